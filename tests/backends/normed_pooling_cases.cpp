#include "tests/backends/normed_pooling_cases.h"

#include "backends/graph/expression.h"
#include "backends/graph/windows.h"

namespace neon::test {

namespace {

using Sizes = std::vector<int64_t>;

enum class Beside { none, output, sum };  // of the normalised array, beside pooling

// A convolution, batch norm over its pixels, pooling, an activation, a convolution of single pixels.
struct NormedPooling {
  Shape x;
  int64_t maps = 64, window = 2, stride = 2, padding = 0, filters = 3;
  const char* activation = "relu";  // after pooling; or null
  bool relu_first = false;
  Beside reader = Beside::none;

  void operator()(Graph& graph, DType dtype) const {
    const Expr images(graph, graph.variable("x", dtype, x));
    const Expr normed = cast(norm(cast(convolved(images, "w0", maps, filters), DType::f32)), dtype);
    const Attributes attributes = {{"window", Sizes{window, window, 1}},
                                   {"strides", Sizes{stride, stride, 1}},
                                   {"padding", Sizes{padding, padding, padding, padding, 0, 0}}};
    const Expr pooled_from = relu_first ? apply("relu", normed) : normed;
    Expr pooled(graph, graph.add_all("pool_max", {pooled_from}, attributes)[0]);
    if (activation) pooled = apply(activation, pooled);
    const Expr y = convolved(pooled, "w1", 8, 1);
    if (reader == Beside::output) graph.output("normed", normed);
    if (reader != Beside::sum) return graph.output("y", y);
    // Both have a number for each pixel that is pooled.
    const Value wide = graph.add("pool_avg_gradient", {y},
                                 {{"window", Sizes{2, 2, 1}},
                                  {"strides", Sizes{2, 2, 1}},
                                  {"padding", Sizes(6, 0)},
                                  {"count_padding", int64_t(1)},
                                  {"sizes", Sizes{x[1], x[2], 8}}});
    graph.output("y", Expr(graph, wide) + convolved(normed, "w2", 8, 1));
  }

  static Expr convolved(Expr from, const std::string& name, int64_t maps, int64_t size) {
    Graph& graph = from.graph();
    const Value w = graph.variable(name, from.dtype(), {maps, size, size, from.shape().back()});
    const int64_t before = size / 2;
    return {graph,
            convolution(graph, from, w, Windows{{size, size}, {1, 1}, {before, before}, {before, before}, {1, 1}}, 1)};
  }

  // In f32, by scales from 0.5 to 1.5.
  Expr norm(Expr x32) const {
    Graph& graph = x32.graph();
    const Shape statistic{1, 1, 1, maps};
    const Expr scale = Expr(graph, graph.variable("gamma", DType::f32, statistic)) * 0.5 + 1.0;
    const Value shift = graph.variable("beta", DType::f32, statistic);
    return {graph, graph.add_all("batch_norm", {x32, scale, shift}, {{"axes", Sizes{0, 1, 2}}, {"epsilon", 1e-3}})[0]};
  }
};

}  // namespace

std::vector<NormedPoolingCase> normed_pooling_cases() {
  const NormedPooling even{.x = {9, 64, 66, 8}};
  NormedPooling first = even, overlapping = even, odd = even, padded = even, gaps = even, of_20 = even, plain = even,
                read = even, summed = even, dense = even, tanh = even, few = even, wide = even, far = even,
                odd_overlapping;
  overlapping.window = 3, overlapping.padding = 1;
  odd.x = {9, 33, 35, 8};
  odd_overlapping = overlapping, odd_overlapping.x = odd.x, odd_overlapping.activation = "tanh";
  far.window = 5, far.stride = 3, far.padding = 2, far.activation = nullptr, far.x = {9, 64, 65, 8};
  padded.x = {9, 33, 35, 8}, padded.padding = 1;
  gaps.stride = 3;
  first.relu_first = true, first.activation = nullptr;
  of_20.maps = 20;
  plain.activation = nullptr, plain.filters = 1;
  read.reader = Beside::output, summed.reader = Beside::sum;
  dense.window = 3, dense.stride = 1, dense.padding = 1, dense.x = {9, 32, 34, 8};
  tanh.activation = "tanh";
  few.x = {2, 10, 12, 8}, few.maps = 8;
  wide.x = {9, 64, 68, 8}, wide.window = wide.stride = 17;
  return {
      {"2x2 windows, then relu", even},
      {"tanh", tanh},
      {"few numbers, one a thread", few},
      {"windows of 289 places", wide, false},
      {"relu first", first},
      {"3x3 windows that overlap", overlapping, true, false},
      {"3x3 windows that overlap, sizes that they do not fill", odd_overlapping, true, false},
      {"5x5 windows that overlap, no relu", far, true, false},
      {"sizes that windows do not fill", odd},
      {"windows that begin in the padding", padded},
      {"gaps between windows", gaps},
      {"20 channels", of_20, false},
      {"a convolution of single pixels, no relu", plain},
      {"an output beside pooling", read, false},
      {"a sum beside pooling", summed, false},
      {"rows that three windows see", dense, false, false},
  };
}

}  // namespace neon::test
