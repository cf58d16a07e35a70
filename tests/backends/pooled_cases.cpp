#include "tests/backends/pooled_cases.h"

#include "backends/graph/expression.h"
#include "backends/graph/windows.h"

namespace neon::test {

namespace {

using Sizes = std::vector<int64_t>;

Expr product(Expr x, const std::string& name, int64_t maps) {
  Graph& graph = x.graph();
  const Value filters = graph.variable(name, x.dtype(), {maps, 1, 1, x.shape().back()});
  return {graph, convolution(graph, x, filters, Windows{{1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}}, 1)};
}

enum class End { plain, added, joined };  // what reads the pooled array, after relu, beside a convolution

// A convolution with bias, pooling, relu, another convolution.
struct Pooled {
  Shape x;
  int64_t maps, window, stride, padding = 0, channels_of_window = 1;
  bool bias = true;
  End end = End::plain;

  void operator()(Graph& graph, DType dtype) const {
    Expr z = product({graph, graph.input("x", dtype, x)}, "w0", maps);
    if (bias) z = z + Expr(graph, graph.variable("b", dtype, {maps}));
    const Attributes attributes = {{"window", Sizes{window, window, channels_of_window}},
                                   {"strides", Sizes{stride, stride, 1}},
                                   {"padding", Sizes{padding, padding, padding, padding, 0, 0}}};
    const Expr y = apply("relu", Expr(graph, graph.add_all("pool_max", {z}, attributes)[0]));
    const Expr next = product(y, "w1", end == End::plain ? 8 : maps);
    if (end == End::plain) graph.output("y", next);
    else if (end == End::added) graph.output("y", next + y);
    else graph.output("y", graph.add("concat", {next, y}, {{"axis", int64_t(3)}}));
  }
};

}  // namespace

std::vector<PooledCase> pooled_cases() {
  return {
      {"windows side by side", Pooled{{8, 64, 64, 1}, 64, 2, 2}},
      {"windows side by side, with padding", Pooled{{8, 62, 62, 1}, 64, 2, 2, 1}},
      {"windows that overlap, with padding", Pooled{{8, 64, 64, 1}, 64, 3, 2, 1}},
      {"windows of neighbours", Pooled{{8, 33, 32, 1}, 64, 3, 1, 1}},
      {"pixels that no window sees", Pooled{{8, 65, 65, 1}, 64, 2, 2}},
      {"20 channels", Pooled{{8, 116, 116, 1}, 20, 2, 2}},
      {"3 channels", Pooled{{8, 296, 296, 1}, 3, 2, 2}},
      {"200 channels", Pooled{{8, 37, 37, 1}, 200, 3, 2, 1}},
      {"no bias", Pooled{.x = {8, 64, 64, 1}, .maps = 64, .window = 2, .stride = 2, .bias = false}, true, false},
      {"a window over two channels, no bias",
       Pooled{.x = {8, 64, 64, 1}, .maps = 66, .window = 2, .stride = 2, .channels_of_window = 2, .bias = false}, true,
       false},
      {"a sum before relu's derivative",
       Pooled{.x = {2, 8, 8, 1}, .maps = 8, .window = 2, .stride = 2, .end = End::added}, false, false},
      {"what a concatenation reads, too",
       Pooled{.x = {2, 8, 8, 1}, .maps = 8, .window = 2, .stride = 2, .end = End::joined}, false, false},
  };
}

}  // namespace neon::test
