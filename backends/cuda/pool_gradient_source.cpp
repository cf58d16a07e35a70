#include "backends/cuda/pool_gradient_source.h"

#include <algorithm>

#include "backends/cuda/code_text.h"
#include "backends/graph/windows.h"

namespace neon::cuda {

namespace {

constexpr int64_t kMostSums = 32;  // numbers that a thread collects at once, in registers
constexpr int64_t kMostSeen = 64;  // elements of a tile, times the windows that see it
// For sums: blocks of a processor; tiles of a thread, below which there are fewer blocks; threads with neighbouring
// channels.
constexpr int kSummingBlocks = 4, kTilesOfThread = 4;
constexpr int64_t kLanes = 8;  // 128 bytes

// Elements of the array are `large`, windows `small`; tile t has elements t * tile + i, which windows t * step + q see.
struct Axis {
  int64_t large = 1, small = 1, window = 1, stride = 1, before = 0;
  int64_t tile = 1, tiles = 1;
  bool overlaps() const { return window > stride; }
  int64_t step() const { return tile / stride; }
  // Where they do not overlap, the windows that have the elements and the gaps behind them.
  int64_t first() const { return overlaps() ? quotient_up(before - window + 1, stride) : before / stride; }
  int64_t last() const { return (tile - 1 + before) / stride; }
  bool has_all_windows() const { return first() >= 0 && (tiles - 1) * step() + last() < small; }
};

class PoolGradientWriter {
 public:
  PoolGradientWriter(const LoweredKernel& kernel, SourceContext& context)
      : kernel_(kernel),
        graph_(context.lowered.graph),
        compute_(graph_.dtype(kernel.outputs[0]) == DType::f64 ? DType::f64 : DType::f32),
        code_(context, compute_),
        blocks_at_once_(kSummingBlocks * context.processors) {}

  Source run() {
    choose_tile();
    const std::string thread = is_moved_ ? moved() : collected();
    const std::string body = sums() ? with_sums(thread) : for_each_tile(thread);
    Source out = kernel_source(code_, compute_, "", body, blocks_);
    out.partial_bytes = partial_bytes_;
    out.tickets = tickets_;
    return out;
  }

 private:
  bool sums() const { return kernel_.outputs.size() > 1; }
  int64_t samples() const { return graph_.shape(kernel_.outputs[0])[0]; }
  // Whether windows see each channel by itself.
  bool by_channel() const {
    const Axis& last = axes_.back();
    return last.window == 1 && last.stride == 1 && last.large == last.small;
  }
  size_t last() const { return axes_.size() - 1; }  // that of the channels

  void choose_tile() {
    const Windows windows = windows_of(kernel_.attributes, kernel_.attributes.integers("window"));
    const Shape &large = graph_.shape(kernel_.outputs[0]), &small = graph_.shape(kernel_.inputs[0]);
    for (size_t a = 0; a < windows.size.size(); ++a)
      axes_.push_back({.large = large[int(a) + 1],
                       .small = small[int(a) + 1],
                       .window = windows.size[a],
                       .stride = windows.strides[a],
                       .before = windows.before[a]});
    is_moved_ = std::ranges::none_of(axes_, &Axis::overlaps);
    for (Axis& axis : axes_) axis.tile = axis.stride;
    choose_width();
    for (Axis& axis : axes_)
      if (axis.stride == 1 && axis.overlaps() && 2 * elements() * width_ <= kMostSums) axis.tile = 2;
    for (Axis& axis : axes_) axis.tiles = quotient_up(axis.large, axis.tile);
    if (by_channel()) axes_.back().tiles = axes_.back().large / width_;
  }

  // Channels of a thread: as wide as an access goes, and as registers hold of all elements of a tile.
  void choose_width() {
    if (!by_channel()) return;
    width_ = code_.neighbours(operands(kernel_));
    while (axes_.back().large % width_ || (width_ > 1 && !is_moved_ && width_ * elements() > kMostSums)) width_ /= 2;
  }

  int64_t elements() const {  // of a tile
    int64_t out = 1;
    for (const Axis& axis : axes_) out *= axis.tile;
    return out;
  }

  static const char* unroll(int64_t times) { return times <= kMostSeen ? "#pragma unroll\n" : "#pragma unroll 1\n"; }
  std::string each() const { return text("#pragma unroll\n  for (int e = 0; e < ", width_, "; ++e) "); }

  // Row-major place of coordinates n, PREFIX0, PREFIX1, ... in an array of samples.
  std::string place(const char* prefix, int64_t Axis::*size) const {
    std::string out = "i64(n)";
    for (size_t a = 0; a < axes_.size(); ++a) out = text("(", out, " * ", axes_[a].*size, " + ", prefix, a, ")");
    return out;
  }

  // `body` for the windows o0, o1, ... that see the tile, with `there` where one may lie outside.
  std::string for_windows(const std::string& body) const {
    int64_t windows = 1;
    for (const Axis& axis : axes_) windows *= axis.last() - axis.first() + 1;
    std::string out, there;
    for (size_t a = 0; a < axes_.size(); ++a) {
      const Axis& axis = axes_[a];
      out += text(unroll(windows * elements()), "  for (int q", a, " = ", axis.first(), "; q", a, " <= ", axis.last(),
                  "; ++q", a, ") {\n  const int o", a, " = t", a, " * ", axis.step(), " + q", a, ";\n");
      if (!by_channel() || a < last())
        if (!axis.has_all_windows())
          there += text(there.empty() ? "" : " && ", "o", a, " >= 0 && o", a, " < ", axis.small);
    }
    return text(out, "  const bool there = ", there.empty() ? "true" : there, ";\n", body, "  ",
                std::string(axes_.size(), '}'), "\n");
  }

  // `body` for the elements i0, i1, ... of the tile, of which the array has x0, x1, ... where `inside`.
  std::string for_elements(const std::string& body) const {
    std::string out, inside;
    for (size_t a = 0; a < axes_.size(); ++a) {
      const Axis& axis = axes_[a];
      out += text(unroll(elements()), "  for (int i", a, " = 0; i", a, " < ", axis.tile, "; ++i", a,
                  ") {\n  const int x", a, " = t", a, " * ", axis.tile, " + i", a, ";\n");
      if (axis.large % axis.tile) inside += text(inside.empty() ? "" : " && ", "x", a, " < ", axis.large);
    }
    return text(out, "  const bool inside = ", inside.empty() ? "true" : inside, ";\n", body, "  ",
                std::string(axes_.size(), '}'), "\n");
  }

  // The place of element i0, i1, ... in window q0, q1, ...: `at`, -1 behind a window's end, where `sees`.
  std::string place_in_window() const {
    std::string out, at = "0", sees, within;
    for (size_t a = 0; a < axes_.size(); ++a) {
      const Axis& axis = axes_[a];
      out += text("  const int r", a, " = i", a, " + ", axis.before, " - q", a, " * ", axis.stride, ";\n");
      at = text("(", at, " * ", axis.window, " + r", a, ")");
      const char* also = a ? " && " : "";
      sees += text(also, "r", a, " >= 0 && r", a, " < ", std::max(axis.window, axis.stride));
      within += text(also, "r", a, " < ", axis.window);
    }
    return text(out, "  const bool sees = ", sees, ";\n  const int at = ", within, " ? ", at, " : -1;\n");
  }

  // The gradient y of window o0, o1, ..., and the place that it goes to. y may have to go through the derivative.
  std::string given(bool needs_numbers) {
    const Value y = kernel_.inputs[0];
    std::string out = text("  const i64 from = ", place("o", &Axis::small), ";\n  get_all<int, ",
                           device_type(graph_.dtype(kernel_.inputs[1])), ", ", width_, ">(",
                           code_.address(kernel_.inputs[1]), ", from, where);\n");
    if (!kernel_.derivative()) {
      if (is_moved_) out += text("  given = ", code_.pack(y, "from", width_), ";\n");
      if (needs_numbers) out += text("  ", code_.load_pack(y, "from", width_, "y"), ";\n");
      return out;
    }
    Instruction derivative;
    derivative.op = kernel_.derivative()->op;
    derivative.inputs = {0, 1};
    out += text("  R gate[", width_, "];\n  ", code_.load_pack(y, "from", width_, "y"), ";\n  ",
                code_.load_pack(kernel_.derivative()->value, "from", width_, "gate"), ";\n  ", each(),
                "y[e] = ", code_.call(derivative, [](int i) { return std::string(i ? "gate[e]" : "y[e]"); }), ";\n");
    if (is_moved_) out += text("  given = packed<", device_type(graph_.dtype(kernel_.outputs[0])), ">(y);\n");
    return out;
  }

  // Every element is of one window, or in a gap.
  std::string moved() {
    const Value x = kernel_.outputs[0];
    const std::string pack = code_.pack_type(x, width_);
    const std::string add = sums() ? "  if (where[e] == at) total[e] += y[e];\n" : "";
    const std::string element =
        text(place_in_window(), "  if (!sees || !inside) continue;\n  ", pack, " out;\n  ", each(),
             "{\n  out.at[e] = where[e] == at ? given.at[e] : ", device_type(graph_.dtype(x)), "{};\n", add, "  }\n  ",
             code_.store_packed(x, place("x", &Axis::large), "out"), ";\n");
    return for_windows(text("  R y[", width_, "];\n  int where[", width_, "];\n  ", pack, " given;\n  (void)y;\n  ",
                            each(), "where[e] = -2;\n  if (there) {\n", given(sums()), "  }\n", for_elements(element)));
  }

  // Every element is the sum over the windows that see it.
  std::string collected() {
    const Value x = kernel_.outputs[0];
    std::string index = "0";
    for (size_t a = 0; a < axes_.size(); ++a) index = text("(", index, " * ", axes_[a].tile, " + i", a, ")");
    const std::string element =
        text(place_in_window(), "  if (sees)\n  ", each(), "if (where[e] == at) sum[", index, "][e] += y[e];\n");
    const std::string add = sums() ? text("  ", each(), "total[e] += sum[", index, "][e];\n") : "";
    return text(
        "  R sum[", elements(), "][", width_, "] = {};\n",
        for_windows(text("  if (!there) continue;\n  R y[", width_, "];\n  int where[", width_, "];\n", given(true),
                         for_elements(text("  (void)inside;\n", element)))),
        for_elements(text(add, "  if (inside) ",
                          code_.store_packed(x, place("x", &Axis::large),
                                             text("packed<", device_type(graph_.dtype(x)), ">(sum[", index, "])")),
                          ";\n")));
  }

  // t0, t1, ... of the first `axes`, and n, of what is left of `rest`.
  std::string coordinates(size_t axes) const {
    std::string out;
    for (size_t a = axes; a-- > 0;)
      out += text("  const int t", a, " = int(rest % ", axes_[a].tiles, ")",
                  a == last() && width_ > 1 ? text(" * ", width_) : "", "; rest /= ", axes_[a].tiles, ";\n");
    return out + "  const int n = int(rest);\n";
  }
  int64_t tiles(size_t axes) const {
    int64_t out = samples();
    for (size_t a = 0; a < axes; ++a) out *= axes_[a].tiles;
    return out;
  }
  static const char* index_type(int64_t count) { return count < (int64_t(1) << 31) ? "u32" : "i64"; }

  std::string for_each_tile(const std::string& body) {
    const int64_t count = tiles(axes_.size());
    blocks_ = (count + kThreads - 1) / kThreads;
    const char* index = index_type(count);
    return text("  const i64 k = i64(blockIdx.x) * kThreads + threadIdx.x;\n  if (k >= ", count, ") return;\n  ", index,
                " rest = ", index, "(k);\n", coordinates(axes_.size()), body);
  }

  // A block has some channels and a share of the tiles, a row of threads each.
  std::string with_sums(const std::string& body) {
    const int64_t lanes = axes_.back().tiles, of_block = std::min(lanes, kLanes), across = of_block * width_;
    const int64_t columns = quotient_up(lanes, of_block), rows = kThreads / of_block, count = tiles(last());
    const int64_t parts =
        std::clamp<int64_t>(count / (rows * kTilesOfThread), 1, std::max<int64_t>(blocks_at_once_ / columns, 1));
    blocks_ = columns * parts;
    tickets_ = int(1 + columns);
    partial_bytes_ = size_t(blocks_ * across) * size_of(compute_);
    const char* index = index_type(count + parts * rows);
    return text(
        "  __shared__ R folded[kThreads * ", width_, "];\n  const int column = blockIdx.x % ", columns,
        ", part = blockIdx.x / ", columns, ", row = threadIdx.x / ", of_block, ", t", last(), " = (column * ", of_block,
        " + int(threadIdx.x) % ", of_block, ") * ", width_, ";\n  R total[", width_, "] = {};\n  if (row < ", rows,
        " && t", last(), " < ", axes_.back().large, ")\n  for (", index, " tile = part * ", rows, " + row; tile < ",
        count, "; tile += ", parts * rows, ") {\n  ", index, " rest = tile;\n", coordinates(last()), body,
        "  }\n  if (row < ", rows, ")\n  ", each(), "folded[threadIdx.x * ", width_,
        " + e] = total[e];\n  __syncthreads();\n  for (int c = threadIdx.x; c < ", across,
        "; c += kThreads) {\n    R sum = 0;\n    for (int r = 0; r < ", rows, "; ++r) sum += folded[r * ", across,
        " + c];\n    partials[i64(blockIdx.x) * ", across, " + c] = sum;\n  }\n", add_parts(across, columns, parts));
  }

  // By the last block of a column, several threads a channel where there are enough.
  std::string add_parts(int64_t across, int64_t columns, int64_t parts) {
    const int64_t shares = std::clamp<int64_t>(kThreads / across, 1, parts);
    return text("  if (!is_last_of(ticket + 1 + column, ", parts, ")) return;\n  for (int c = threadIdx.x; c < ",
                across * shares, "; c += kThreads) {\n    R sum = 0;\n#pragma unroll 16\n    for (int p = c / ", across,
                "; p < ", parts, "; p += ", shares, ") sum += __ldcg(partials + i64(p * ", columns, " + column) * ",
                across, " + c % ", across,
                ");\n    folded[c] = sum;\n  }\n  __syncthreads();\n  for (int c = threadIdx.x; c < ", across,
                "; c += kThreads) {\n    const int channel = column * ", across,
                " + c;\n    R sum = 0;\n    for (int s = 0; s < ", shares, "; ++s) sum += folded[s * ", across,
                " + c];\n    if (channel < ", axes_.back().large, ") {\n",
                code_.store(kernel_.outputs[1], "channel", "sum", "      "), "    }\n  }\n");
  }

  const LoweredKernel& kernel_;
  const Graph& graph_;
  const DType compute_;
  CodeText code_;
  std::vector<Axis> axes_;
  bool is_moved_ = false;
  int width_ = 1, tickets_ = 1;
  int64_t blocks_ = 1;
  size_t partial_bytes_ = 0;
  const int64_t blocks_at_once_;
};

}  // namespace

Source pool_gradient_source(const LoweredKernel& kernel, SourceContext& context) {
  return PoolGradientWriter(kernel, context).run();
}

}  // namespace neon::cuda
