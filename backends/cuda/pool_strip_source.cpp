#include "backends/cuda/pool_strip_source.h"

#include <algorithm>

#include "backends/cuda/code_text.h"
#include "backends/cuda/given_source.h"
#include "backends/graph/windows.h"

extern const char pool_strip_text[];
extern const unsigned long pool_strip_text_size;

namespace neon::cuda {

namespace {

constexpr int64_t kMostWindows = 7;            // of a strip: 7, 14, 28 and 56 are multiples
constexpr int64_t kMostColumns = 16;           // of a strip, whose numbers are in registers
constexpr int64_t kMostInWindow = 32;          // of a window
constexpr int64_t kMostTurns = 2;              // that an operand's row is computed
constexpr int64_t kChannels = 8;               // of a thread that computes what it reads
constexpr int64_t kThreadsOfProcessor = 1024;  // with fewer, strips are shorter

Windows windows_of(const LoweredKernel& kernel) {
  return windows_of(kernel.attributes, kernel.attributes.integers("window"));
}

bool sees_channels_alone(const Windows& windows) {
  const size_t last = size_t(windows.axes()) - 1;
  return windows.size[last] == 1 && windows.strides[last] == 1 && !windows.before[last] && !windows.after[last];
}

// Whether windows that see each channel alone are pooled by strips.
bool may_be_strips(const Graph& graph, const Windows& windows, const std::vector<Value>& outputs) {
  const DType dtype = graph.dtype(outputs[0]);
  return (dtype == DType::f16 || dtype == DType::bf16) && graph.dtype(outputs[1]) == DType::u8 && windows.axes() >= 2 &&
         Shape(windows.size).elements() <= kMostInWindow && windows.size[size_t(windows.axes()) - 2] <= kMostColumns &&
         std::ranges::all_of(windows.dilation, [](int64_t d) { return d == 1; });
}

// Channels of a thread: as many as an access is wide; 1 where windows step over them.
int width_of(const LoweredKernel& kernel, SourceContext& context) {
  if (!sees_channels_alone(windows_of(kernel))) return 1;
  std::vector<Value> arrays = kernel.prologue() ? kernel.outputs : operands(kernel);
  for (const Instruction& i : kernel.prologue() ? kernel.prologue()->segments[0].body : std::vector<Instruction>{})
    if (i.kind == Instruction::Kind::load && i.reach != Reach::scalar && i.strides[0] != 0) arrays.push_back(i.value);
  int width = CodeText(context, DType::f32).neighbours(arrays);
  while (context.lowered.graph.shape(kernel.outputs[0]).back() % width) width /= 2;
  return width;
}

class StripWriter {
 public:
  StripWriter(const LoweredKernel& kernel, SourceContext& context)
      : kernel_(kernel),
        x_(kernel.prologue() ? kernel.prologue()->segments[0].domain : context.lowered.graph.shape(kernel.inputs[0])),
        y_(context.lowered.graph.shape(kernel.outputs[0])),
        type_(device_type(context.lowered.graph.dtype(kernel.outputs[0]))),
        windows_(windows_of(kernel)),
        code_(context, DType::f32),
        width_(width_of(kernel, context)),
        strip_(windows_.axes() - 2) {
    choose_strip(context.processors * kThreadsOfProcessor);
  }

  Source run() {
    const size_t s = size_t(strip_);
    const std::string body =
        text(coordinates(), given(), "  const int left = first * ", windows_.strides[s], " - ", windows_.before[s],
             ";\n", "  const auto see = [&](int column, Largest<", type_, ", ", width_, ">& largest) {\n", see(),
             "  };\n", "  const auto give = [&](int window, const Largest<", type_, ", ", width_, ">& largest) {\n",
             give(), "  };\n  largest_of_strip<", type_, ", ", width_, ", ", of_strip_, ", ", windows_.size[s], ", ",
             windows_.strides[s], ">(see, give);\n");
    const std::string_view strip(pool_strip_text, pool_strip_text_size);
    return kernel_source(code_, DType::f32, std::string(strip), body, (threads() + kThreads - 1) / kThreads);
  }

 private:
  int64_t outputs() const { return y_[strip_ + 1]; }
  int64_t strips() const { return quotient_up(outputs(), of_strip_); }
  int64_t threads() const { return y_.elements() / width_ / outputs() * strips(); }

  // Windows that do not overlap have nothing to share but numbers of channels, by which their operand is computed.
  void choose_strip(int64_t enough) {
    const int64_t window = windows_.size[size_t(strip_)], stride = windows_.strides[size_t(strip_)];
    if ((window <= stride && !kernel_.prologue()) || outputs() == 0) return;
    const int64_t most = std::clamp<int64_t>((kMostColumns - window) / stride + 1, 1, kMostWindows);
    of_strip_ = quotient_up(outputs(), quotient_up(outputs(), most));
    while (of_strip_ > 1 && threads() < enough) of_strip_ = quotient_up(of_strip_, 2);
  }

  static const char* index_type(int64_t count) { return count < (int64_t(1) << 31) ? "u32" : "i64"; }

  // The thread's first channel c, first window of a strip, other coordinates i0, i1, ... and sample n.
  std::string coordinates() const {
    const char* index = index_type(threads() + kThreads);
    std::string out =
        text("  ", index, " rest = ", index, "(blockIdx.x) * kThreads + threadIdx.x;\n  if (rest >= ", threads(),
             ") return;\n  const int c = int(rest % ", y_.back() / width_, ") * ", width_,
             ";\n  rest /= ", y_.back() / width_, ";\n  const int first = int(rest % ", strips(), ") * ", of_strip_,
             ";\n  rest /= ", strips(), ";\n");
    for (int axis = strip_; axis-- > 0;)
      out += text("  const int i", axis, " = int(rest % ", y_[axis + 1], ");\n  rest /= ", y_[axis + 1], ";\n");
    return out + "  const int n = int(rest);\n";
  }

  // Element n, PREFIX0, ..., `along` the strip, c of an array.
  std::string place(const Shape& shape, const char* prefix, const char* along) const {
    std::string out = text(index_type(shape.elements()), "(n)");
    for (int axis = 0; axis < strip_; ++axis) out = text("(", out, " * ", shape[axis + 1], " + ", prefix, axis, ")");
    return text("(", out, " * ", shape[strip_ + 1], " + ", along, ") * ", shape.back(), " + c");
  }

  // How numbers come that are computed as they are read.
  std::string given() {
    if (!kernel_.prologue()) return "";
    return text("  const int image = n;\n", GivenSource(kernel_, code_, DType::f32, "c").run(width_, true));
  }

  // Statements that put the numbers of pixel n, x0, x into `numbers`, if it is inside.
  std::string numbers() {
    if (!kernel_.prologue())
      return text("numbers.words = {};\n    if (inside) numbers = ",
                  code_.pack(kernel_.inputs[0], place(x_, "x", "x"), width_), ";\n");
    return text("R made[", width_, "];\n    given(x0, x * ", x_.back(), " + c, inside, made);\n",
                "    numbers = packed<", type_, ">(made);\n");
  }

  // All that a column of the strip has, row by row.
  std::string see() {
    std::string out = "    const int x = left + column;\n", inside = text("u32(x) < ", x_[strip_ + 1], "u"), row = "0",
                ends;
    for (int axis = 0; axis < strip_; ++axis) {
      const size_t a = size_t(axis);
      out += text("#pragma unroll\n    for (int r", axis, " = 0; r", axis, " < ", windows_.size[a], "; ++r", axis,
                  ") {\n    const int x", axis, " = i", axis, " * ", windows_.strides[a], " - ", windows_.before[a],
                  " + r", axis, ";\n");
      inside += text(" && u32(x", axis, ") < ", x_[axis + 1], "u");
      row = text("(", row, " * ", windows_.size[a], " + r", axis, ")");
      ends += "    }\n";
    }
    return text(out, "    const bool inside = ", inside, ";\n    ", code_.pack_type(kernel_.outputs[0], width_),
                " numbers;\n    ", numbers(), "    largest.take(numbers, inside, 0xffffu - ", row, " * ",
                windows_.size[size_t(strip_)], ");\n", ends);
  }

  std::string give() {
    const Value positions = kernel_.outputs[1];
    return text("    const int i = first + window;\n    if (i >= ", outputs(), ") return;\n    const ",
                index_type(y_.elements()), " at = ", place(y_, "i", "i"), ";\n    ",
                code_.store_packed(kernel_.outputs[0], "at", text("largest.numbers(", kernel_.relu(), ")")), ";\n    ",
                code_.store_packed(positions, "at", "largest.places()"), ";\n");
  }

  const LoweredKernel& kernel_;
  const Shape &x_, &y_;
  const char* const type_;
  const Windows windows_;
  CodeText code_;
  const int width_, strip_;  // strip_: the axis along which strips go, the last before the channels
  int64_t of_strip_ = 1;     // windows
};

}  // namespace

bool is_pooled_by_strips(const LoweredKernel& kernel, SourceContext& context) {
  return may_be_strips(context.lowered.graph, windows_of(kernel), kernel.outputs) && width_of(kernel, context) > 1;
}

bool pools_computed(const LoweredKernel& pooling, const Graph& graph) {
  const Windows windows = windows_of(pooling);
  return may_be_strips(graph, windows, pooling.outputs) && sees_channels_alone(windows) && windows.axes() == 3 &&
         windows.size[0] <= kMostTurns * windows.strides[0] && graph.shape(pooling.outputs[0]).back() % kChannels == 0;
}

Source pool_strip_source(const LoweredKernel& kernel, SourceContext& context) {
  return StripWriter(kernel, context).run();
}

}  // namespace neon::cuda
