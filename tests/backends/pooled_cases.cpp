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

enum class Reader { pooling, another, joined };  // what reads the convolution beside pooling; what reads relu

// A convolution of an input with padding around it, a bias, pooling, relu or not, another convolution.
struct First {
  Shape x;
  Sizes filters;
  int64_t maps, window = 2, padding = 0;
  bool bias = true, relu = true;
  Reader reader = Reader::pooling;
  bool images = true;  // whole numbers, so that there is no gradient by x

  void operator()(Graph& graph, DType dtype) const {
    const Value x0 = images ? cast(graph, graph.input("x", DType::i8, x), dtype) : graph.input("x", dtype, x);
    const Value w = graph.variable("w0", dtype, {maps, filters[0], filters[1], x.back()});
    Expr z(graph, convolution(graph, x0, w, Windows{filters, {1, 1}, {1, 0}, {0, 1}, {1, 1}}, 1));
    if (bias) z = z + Expr(graph, graph.variable("b", dtype, {maps}));
    const Attributes attributes = {{"window", Sizes{window, window, 1}},
                                   {"strides", Sizes{2, 2, 1}},
                                   {"padding", Sizes{padding, padding, padding, padding, 0, 0}}};
    Expr y(graph, graph.add_all("pool_max", {z}, attributes)[0]);
    if (relu) y = apply("relu", y);
    const Expr next = product(y, "w1", reader == Reader::joined ? maps : 8);
    if (reader == Reader::another) graph.output("z", z);
    if (reader == Reader::joined) graph.output("y", graph.add("concat", {next, y}, {{"axis", int64_t(3)}}));
    else graph.output("y", next);
  }
};

}  // namespace

std::vector<PooledConvolutionCase> pooled_convolution_cases() {
  const First few{.x = {2, 10, 18, 3}, .filters = {3, 3}, .maps = 64};
  First no_relu = few, joined = few, another = few, no_bias = few, larger = few, padded = few, with_gradient = few;
  no_relu.relu = no_bias.bias = with_gradient.images = false;
  joined.reader = Reader::joined, another.reader = Reader::another;
  larger.window = 3, padded.padding = 1;
  return {
      {"27 numbers of 32, 64 maps", First{{3, 18, 34, 3}, {3, 3}, 64}},
      {"the same of many samples", First{{20, 34, 30, 3}, {3, 3}, 64}},
      {"9 of 16, 32 maps, pixels that no window sees", First{{9, 34, 36, 1}, {3, 3}, 32}},
      {"25 of 32, 96 maps, one sample", First{{1, 7, 40, 1}, {5, 5}, 96}},
      {"25 of 32, 192 maps", First{{3, 15, 11, 1}, {5, 5}, 192}},
      {"48, 128 maps", First{{3, 11, 13, 3}, {4, 4}, 128}},
      {"64, 64 maps", First{{2, 17, 23, 1}, {8, 8}, 64}},
      {"12 of 16, one window an image", First{{5, 2, 2, 3}, {2, 2}, 64}},
      {"no relu", no_relu, true, false, false},
      {"images with a gradient", with_gradient, true, false},
      {"what a concatenation reads", joined, true, false},
      {"another reader", another, false},
      {"no bias", no_bias, false, false},
      {"3 x 3 windows", larger, false, false},
      {"pooling with padding", padded, false, false},
      {"48 maps", First{{2, 10, 18, 3}, {3, 3}, 48}, false, false},
      {"18 of 24 numbers", First{{2, 10, 18, 2}, {3, 3}, 64}, false, false},
  };
}

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
