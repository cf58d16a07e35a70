#include "tests/backends/normed_depthwise_cases.h"

#include "backends/graph/expression.h"
#include "backends/graph/windows.h"

namespace neon::test {

namespace {

using Sizes = std::vector<int64_t>;

enum class Beside { none, output, sum, depthwise };  // of the normalised array, beside the depthwise convolution

// A convolution of single pixels, batch norm, an activation, a depthwise convolution, a convolution of single pixels.
struct NormedDepthwise {
  Shape x = {9, 17, 19, 8};
  int64_t maps = 32, rows = 3, columns = 3, stride = 1;
  const char* activation = "relu";  // or null
  double shift = 0;                 // of what batch norm reads
  bool adds = false;                // an array to the normalised one
  Beside reader = Beside::none;

  void operator()(Graph& graph, DType dtype) const {
    const Expr images(graph, graph.variable("x", dtype, x));
    const Expr seen = cast(convolved(images, "w0", maps), DType::f32) + shift;
    Expr normed = norm(seen);
    if (adds) normed = normed + cast(convolved(images, "w3", maps), DType::f32);
    normed = cast(active(normed), dtype);
    Expr y = convolved(depthwise(normed, "w1", rows, columns, stride), "w2", 8);
    if (reader == Beside::output) graph.output("normed", normed);
    if (reader == Beside::sum) y = y + convolved(normed, "w4", 8);
    if (reader == Beside::depthwise) y = y + convolved(depthwise(normed, "w5", 3, 3, stride), "w6", 8);
    graph.output("y", y * y * 0.0625);  // so that gradients follow from results
  }

  Expr active(Expr x32) const {
    if (!activation) return x32;
    if (std::string(activation) == "relu_clip") return apply("relu_clip", x32, x32.constant(0), x32.constant(1));
    return apply(activation, x32);
  }

  static Expr convolved(Expr from, const std::string& name, int64_t maps) {
    Graph& graph = from.graph();
    const Value w = graph.variable(name, from.dtype(), {maps, 1, 1, from.shape().back()});
    return {graph, convolution(graph, from, w, Windows{{1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}}, 1)};
  }

  static Expr depthwise(Expr from, const std::string& name, int64_t rows, int64_t columns, int64_t stride) {
    Graph& graph = from.graph();
    const int64_t channels = from.shape().back();
    const Value w = graph.variable(name, from.dtype(), {channels, rows, columns, 1});
    const Sizes sides = {rows / 2, columns / 2};
    return {graph,
            convolution(graph, from, w, Windows{{rows, columns}, {stride, stride}, sides, sides, {1, 1}}, channels)};
  }

  // In f32, by scales from 0.5 to 1.5.
  Expr norm(Expr x32) const {
    Graph& graph = x32.graph();
    const Shape statistic{1, 1, 1, maps};
    const Expr scale = Expr(graph, graph.variable("gamma", DType::f32, statistic)) * 0.5 + 1.0;
    const Value offset = graph.variable("beta", DType::f32, statistic);
    return {graph, graph.add_all("batch_norm", {x32, scale, offset}, {{"axes", Sizes{0, 1, 2}}, {"epsilon", 1e-3}})[0]};
  }
};

}  // namespace

std::vector<NormedDepthwiseCase> normed_depthwise_cases() {
  const NormedDepthwise relu;
  NormedDepthwise clipped = relu, plain = relu, halved = relu, thirds = relu, wide = relu, flat = relu, widest = relu,
                  even = relu, odd = relu, few = relu, dear = relu, added = relu, read = relu, summed = relu,
                  twice = relu, far = relu;
  clipped.activation = "relu_clip", plain.activation = nullptr, dear.activation = "softplus";
  halved.stride = 2, thirds.stride = 3;
  wide.rows = wide.columns = 5, flat.rows = 2, widest.rows = widest.columns = 7;
  even.x = {5, 12, 16, 8}, even.stride = 2, even.rows = even.columns = 5;
  odd.maps = 27, few.maps = 6, few.x = {3, 5, 3, 8};
  added.adds = true, far.shift = 1000, far.activation = nullptr;
  read.reader = Beside::output, summed.reader = Beside::sum, twice.reader = Beside::depthwise;
  return {
      {"3x3, relu", relu},
      {"relu_clip", clipped},
      {"no activation", plain},
      {"strides of 2", halved},
      {"strides of 3", thirds},
      {"5x5", wide, 1, 1, 1, false},
      {"2x3", flat},
      {"5x5 with strides of 2, an even image", even, 1, 1, 1, false},
      {"odd channels", odd, 1, 1, 1, false},
      {"few channels, an image smaller than a strip", few},
      {"two readers", twice, 2, 2, 0},
      {"numbers far from 0", far},
      {"7x7, which would compute pixels too often", widest, 0, 0, 0},
      {"softplus, which takes longer than to read it", dear, 0, 0, 0},
      {"a sum of two arrays", added, 0, 0, 0},
      {"an output beside the convolution", read, 0, 0, 0},
      {"a convolution of all channels beside it", summed, 0, 0, 0},
  };
}

}  // namespace neon::test
