// Source of the ops whose windows step over arrays with their channels last: pooling and its gradients, and the
// convolutions that cuDNN does not take. Neighbouring threads have neighbouring channels, several at once where that is
// one access; a gradient's thread collects what its element gets from all windows that see it, always in one order.
#include <algorithm>

#include "backends/cuda/code_text.h"
#include "backends/cuda/depthwise_source.h"
#include "backends/cuda/pool_gradient_source.h"
#include "backends/cuda/pool_strip_source.h"
#include "backends/cuda/pooled_product_source.h"
#include "backends/graph/ops.h"
#include "backends/graph/windows.h"

namespace neon::cuda {

namespace {

using Sizes = std::vector<int64_t>;

constexpr int64_t kMostUnrolled = 32;  // places of a window
constexpr int64_t kMostInARow = 128;   // numbers that a plain sum adds up

Sizes inner(const Shape& shape, int last) { return {shape.begin() + 1, shape.end() - last}; }

class WindowWriter {
 public:
  WindowWriter(const LoweredKernel& kernel, SourceContext& context)
      : kernel_(kernel),
        graph_(context.lowered.graph),
        compute_(graph_.dtype(kernel.outputs[0]) == DType::f64 ? DType::f64 : DType::f32),
        code_(context, compute_) {}

  Source run() {
    std::string body;
    const ConvolutionKind kind = kernel_.convolution();
    if (kind == ConvolutionKind::none) {
      windows_ = windows_of(kernel_.attributes, kernel_.attributes.integers("window"));
      choose_width();
      const bool gradient = kernel_.is(ops::pool_avg_gradient);
      small_ = inner(gradient ? input(0) : output(), 0);
      large_ = inner(gradient ? output() : input(0), 0);
      body = kernel_.is(ops::pool_max) ? maximum() : kernel_.is(ops::pool_avg) ? average() : spread_means();
    } else if (kind == ConvolutionKind::forward) {
      body = convolution(input(0), input(1), output());
    } else if (kind == ConvolutionKind::by_input) {
      body = data_gradient(output(), input(1), input(0));
    } else {
      body = weight_gradient(input(0), output(), input(1));
    }
    return kernel_source(code_, compute_, "", body, blocks_);
  }

 private:
  const Shape& input(size_t i) const { return graph_.shape(kernel_.inputs[i]); }
  const Shape& output() const { return graph_.shape(kernel_.outputs[0]); }
  int axes() const { return windows_.axes(); }

  // Channels that a thread takes at once: as wide as an access goes, where windows do not step over them.
  void choose_width() {
    const size_t last = size_t(axes()) - 1;
    if (windows_.size[last] != 1 || windows_.strides[last] != 1 || windows_.before[last] || windows_.after[last])
      return;
    width_ = code_.neighbours(operands(kernel_));
    while (output().back() % width_) width_ /= 2;
  }

  // `body` for each index k of `shape`, whose coordinates are n and i0, i1, ...; `width_` neighbours along the last.
  std::string for_each(const Shape& shape, const std::string& body) {
    const int64_t count = shape.elements() / width_;
    blocks_ = (count + kThreads - 1) / kThreads;
    const char* index = std::max(input(0).elements(), output().elements()) < (int64_t(1) << 31) ? "u32" : "i64";
    std::string out = text("  const i64 k = i64(blockIdx.x) * kThreads + threadIdx.x;\n  if (k >= ", count,
                           ") return;\n  ", index, " rest = ", index, "(k);\n");
    for (int axis = shape.rank() - 1; axis > 0; --axis) {
      const int64_t size = axis + 1 == shape.rank() ? shape[axis] / width_ : shape[axis];
      out += text("  const int i", axis - 1, " = int(rest % ", size, ")", axis + 1 == shape.rank() ? scale() : "",
                  "; rest /= ", size, ";\n");
    }
    return out + "  const int n = int(rest);\n  (void)n;\n" + body;
  }
  std::string scale() const { return width_ > 1 ? text(" * ", width_) : ""; }

  // Row-major place of coordinates n, PREFIX0, PREFIX1, ... in an array of samples of `sizes`.
  static std::string place(const Sizes& sizes, const std::string& prefix) {
    std::string out = "i64(n)";
    for (size_t i = 0; i < sizes.size(); ++i) out = text("(", out, " * ", sizes[i], " + ", prefix, i, ")");
    return out;
  }

  // Loops over the elements x0, x1, ... that the window of output i0, i1, ... sees, with `at` their place in it.
  std::string over_window(const std::string& body) const {
    std::string out, place = "0", ends;
    for (int axis = 0; axis < axes(); ++axis) {
      const size_t a = size_t(axis);
      out += text(unroll(), "  for (int r", axis, " = 0; r", axis, " < ", windows_.size[a], "; ++r", axis,
                  ") {\n  const int x", axis, " = i", axis, " * ", windows_.strides[a], " - ", windows_.before[a],
                  " + r", axis, " * ", windows_.dilation[a], ";\n");
      if (windows_.size[a] > 1 || windows_.before[a] || windows_.after[a])
        out += text("  if (x", axis, " < 0 || x", axis, " >= ", large_[a], ") continue;\n");
      place = text("(", place, " * ", windows_.size[a], " + r", axis, ")");
      ends += "  }\n";
    }
    return out + text("  const int at = ", place, ";\n  (void)at;\n") + body + ends;
  }
  std::string unroll() const {
    return Shape(windows_.size).elements() <= kMostUnrolled ? "#pragma unroll\n" : "#pragma unroll 1\n";
  }

  // Loops over the windows o0, o1, ... that see element i0, i1, ..., with `at` its place in each.
  std::string over_windows(const std::string& body) const {
    std::string out, place = "0", ends;
    for (int axis = 0; axis < axes(); ++axis) {
      const size_t a = size_t(axis);
      out += text(unroll(), "  for (int r", axis, " = ", windows_.size[a] - 1, "; r", axis, " >= 0; --r", axis,
                  ") {\n  const int s", axis, " = i", axis, " + ", windows_.before[a], " - r", axis, " * ",
                  windows_.dilation[a], ", o", axis, " = s", axis, " / ", windows_.strides[a], ";\n  if (s", axis,
                  " < 0 || s", axis, " % ", windows_.strides[a], " || o", axis, " >= ", small_[a], ") continue;\n");
      place = text("(", place, " * ", windows_.size[a], " + r", axis, ")");
      ends += "  }\n";
    }
    return out + text("  const int at = ", place, ";\n  (void)at;\n") + body + ends;
  }

  std::string each() const { return text("#pragma unroll\n  for (int e = 0; e < ", width_, "; ++e) "); }

  // Where a window has its first place that is not padding.
  std::string first_place() const {
    std::string out = "0";
    for (int axis = 0; axis < axes(); ++axis) {
      const size_t a = size_t(axis);
      const std::string before = text(windows_.before[a], " - i", axis, " * ", windows_.strides[a]);
      out = text("(", out, " * ", windows_.size[a], " + (", before, " > 0 ? ", before, " : 0))");
    }
    return out;
  }

  // NaN is larger than any number, of equal ones the first is taken.
  std::string maximum() {
    const std::string relu =
        kernel_.relu() ? text("  ", each(), "best[e] = neon_math::relu_value<R>(best[e], R(0), R(0));\n") : "";
    const std::string type = device_type(graph_.dtype(kernel_.outputs[1]));
    return for_each(
        output(),
        text("  R best[", width_, "];\n  int where[", width_, "];\n  ", each(),
             "best[e] = R(-neon_math::kInfinity64), where[e] = ", first_place(), ";\n",
             over_window(text("  R x[", width_, "];\n  ",
                              code_.load_pack(kernel_.inputs[0], place(large_, "x"), width_, "x"), ";\n  ", each(),
                              "if (!(x[e] <= best[e]) && best[e] == best[e]) best[e] = x[e], where[e] = at;\n")),
             relu, "  ", code_.store_pack(kernel_.outputs[0], text("k", scale()), width_, "best"), ";\n  put_all<",
             type, ", int, ", width_, ">(", code_.address(kernel_.outputs[1]), ", k", scale(), ", where);\n"));
  }

  // How many places of the window of output PREFIX0, PREFIX1, ... are no padding.
  std::string count(const std::string& prefix) const {
    if (kernel_.attributes.integer("count_padding")) return text(Shape(windows_.size).elements());
    std::string out;
    for (int axis = 0; axis < axes(); ++axis) {
      const size_t a = size_t(axis);
      if (windows_.size[a] == 1 && !windows_.before[a] && !windows_.after[a]) continue;
      out += text(out.empty() ? "" : " * ", "seen(", prefix, axis, " * ", windows_.strides[a], " - ",
                  windows_.before[a], ", ", windows_.size[a], ", ", large_[a], ")");
    }
    return out.empty() ? "1" : out;
  }
  static std::string seen() {
    return "  const auto seen = [](int begin, int window, int size) {\n    return min(begin + window, size) - "
           "max(begin, "
           "0);\n  };\n  (void)seen;\n";
  }

  // A thread adds up its whole window; over many places it keeps what each addition loses for the next (Kahan 1965).
  std::string average() {
    const bool drifts = Shape(windows_.size).elements() > kMostInARow;
    const std::string add = drifts ? "{\n  const R term = x[e] - lost[e], next = sum[e] + term;\n  lost[e] = next - "
                                     "sum[e] - term;\n  sum[e] = "
                                     "next;\n  }\n"
                                   : "sum[e] += x[e];\n";
    return for_each(output(),
                    text(seen(), "  R sum[", width_, "] = {};\n", drifts ? text("  R lost[", width_, "] = {};\n") : "",
                         over_window(text("  R x[", width_, "];\n  ",
                                          code_.load_pack(kernel_.inputs[0], place(large_, "x"), width_, "x"), ";\n  ",
                                          each(), add)),
                         "  const R many = R(", count("i"), ");\n  ", each(), "sum[e] /= many;\n  ",
                         code_.store_pack(kernel_.outputs[0], text("k", scale()), width_, "sum"), ";\n"));
  }

  // An element's share of every window that sees it.
  std::string spread_means() {
    const std::string body =
        text("  R y[", width_, "];\n  ", code_.load_pack(kernel_.inputs[0], place(small_, "o"), width_, "y"),
             ";\n  const R many = R(", count("o"), ");\n  ", each(), "sum[e] += y[e] / many;\n");
    return for_each(output(), text(seen(), "  R sum[", width_, "] = {};\n", over_windows(body), "  ",
                                   code_.store_pack(kernel_.outputs[0], text("k", scale()), width_, "sum"), ";\n"));
  }

  void prepare_convolution(const Shape& x, const Shape& w, const Shape& y) {
    windows_ = windows_of(kernel_.attributes, inner(w, 1));
    large_ = inner(x, 1);
    small_ = inner(y, 1);
    of_group_ = w.back();
    maps_of_group_ = y.back() / kernel_.attributes.integer("groups");
    places_ = Shape(windows_.size).elements();
  }

  std::string convolution(const Shape& x, const Shape& w, const Shape& y) {
    prepare_convolution(x, w, y);
    const int last = axes();
    const std::string element = code_.load(kernel_.inputs[0], text(place(large_, "x"), " * ", x.back(), " + i", last,
                                                                   " / ", maps_of_group_, " * ", of_group_, " + c"));
    const std::string weight =
        code_.load(kernel_.inputs[1], text("(i", last, " * ", places_, "ll + at) * ", of_group_, " + c"));
    std::string tail;
    if (kernel_.bias()) tail += text("  sum += ", code_.load(kernel_.bias(), text("i", last)), ";\n");
    if (kernel_.addend()) tail += text("  sum += ", code_.load(kernel_.addend(), "k"), ";\n");
    if (kernel_.relu()) tail += "  sum = neon_math::relu_value<R>(sum, R(0), R(0));\n";
    return for_each(
        y, text("  R sum = 0;\n",
                over_window(text("  for (int c = 0; c < ", of_group_, "; ++c) sum += ", element, " * ", weight, ";\n")),
                tail, code_.store(kernel_.outputs[0], "k", "sum", "  ")));
  }

  std::string data_gradient(const Shape& x, const Shape& w, const Shape& y) {
    prepare_convolution(x, w, y);
    const int last = axes();
    const std::string map = text("(i", last, " / ", of_group_, " * ", maps_of_group_, " + m)");
    const std::string cotangent = code_.load(kernel_.inputs[0], text(place(small_, "o"), " * ", y.back(), " + ", map));
    const std::string weight = code_.load(
        kernel_.inputs[1], text("(", map, " * ", places_, "ll + at) * ", of_group_, " + i", last, " % ", of_group_));
    return for_each(x, text("  R sum = 0;\n",
                            over_windows(text("  for (int m = 0; m < ", maps_of_group_, "; ++m) sum += ", cotangent,
                                              " * ", weight, ";\n")),
                            code_.store(kernel_.outputs[0], "k", "sum", "  ")));
  }

  // A block for each weight.
  std::string weight_gradient(const Shape& x, const Shape& w, const Shape& y) {
    prepare_convolution(x, w, y);
    blocks_ = w.elements();
    std::string body = text("  __shared__ Scratch<R> scratch;\n  i64 rest = blockIdx.x;\n  const int c = int(rest % ",
                            of_group_, "); rest /= ", of_group_, ";\n");
    for (int axis = axes() - 1; axis >= 0; --axis)
      body += text("  const int r", axis, " = int(rest % ", windows_.size[size_t(axis)],
                   "); rest /= ", windows_.size[size_t(axis)], ";\n");
    body += text("  const int map = int(rest);\n  R sum = 0;\n  for (i64 j = threadIdx.x; j < ",
                 y.elements() / y.back(), "; j += kThreads) {\n  i64 left = j;\n");
    for (int axis = axes() - 1; axis >= 0; --axis) {
      const size_t a = size_t(axis);
      body += text("  const int x", axis, " = int(left % ", small_[a], ") * ", windows_.strides[a], " - ",
                   windows_.before[a], " + r", axis, " * ", windows_.dilation[a], "; left /= ", small_[a], ";\n  if (x",
                   axis, " < 0 || x", axis, " >= ", large_[a], ") continue;\n");
    }
    const std::string element = code_.load(kernel_.inputs[0], text(place(large_, "x"), " * ", x.back(), " + map / ",
                                                                   maps_of_group_, " * ", of_group_, " + c"));
    return body + text("  const int n = int(left);\n  sum += ", element, " * ",
                       code_.load(kernel_.inputs[1], text("j * ", y.back(), " + map")),
                       ";\n  }\n  sum = fold_neighbours<FoldSum, kThreads, R>(sum, scratch);\n  if (threadIdx.x != 0) "
                       "return;\n",
                       code_.store(kernel_.outputs[0], "i64(blockIdx.x)", "sum", "  "));
  }

  const LoweredKernel& kernel_;
  const Graph& graph_;
  const DType compute_;
  CodeText code_;
  Windows windows_;
  Sizes large_, small_;  // of a sample without channels (convolution) or with them (pooling): what windows step over,
                         // and the windows
  int64_t of_group_ = 1, maps_of_group_ = 1, places_ = 1, blocks_ = 1;
  int width_ = 1;
};

Source source_of_windows(const LoweredKernel& kernel, SourceContext& context) {
  if (is_depthwise(kernel, context.lowered.graph)) return depthwise_source(kernel, context);
  return WindowWriter(kernel, context).run();
}

Source convolution_source(const LoweredKernel& kernel, SourceContext& context) {
  NEON_ASSERT(!kernel.folds());  // a library's kernel makes these
  const bool pools = kernel.takes(Attachment::Kind::pooling);
  return pools ? pooled_product_source(kernel, context) : source_of_windows(kernel, context);
}

Source pool_max_source(const LoweredKernel& kernel, SourceContext& context) {
  const bool strips = is_pooled_by_strips(kernel, context);
  NEON_ASSERT(strips || !kernel.prologue());
  return strips ? pool_strip_source(kernel, context) : source_of_windows(kernel, context);
}

Source pool_max_gradient_source(const LoweredKernel& kernel, SourceContext& context) {
  const bool goes_on = kernel.takes(Attachment::Kind::filters);
  return goes_on ? pooled_gradient_source(kernel, context) : pool_gradient_source(kernel, context);
}

const SourceRegistration windows[] = {
    {ops::convolution, convolution_source},
    {ops::convolution_data_gradient, source_of_windows},
    {ops::convolution_weight_gradient, source_of_windows},
    {ops::pool_max, pool_max_source},
    {ops::pool_max_gradient, pool_max_gradient_source},
    {ops::pool_avg, source_of_windows},
    {ops::pool_avg_gradient, source_of_windows},
};

}  // namespace

}  // namespace neon::cuda
