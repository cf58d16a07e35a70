// Columns of what windows see, by the formula, and gradients of filters as products of them, which must be the sums
// that they were.
#include <catch2/catch.hpp>

#include "backends/graph/expression.h"
#include "backends/graph/lower.h"
#include "backends/graph/passes.h"
#include "backends/graph/windows.h"
#include "tests/backends/run_case.h"
#include "tests/backends/window_cases.h"

using namespace neon;
using namespace neon::test;

namespace {

using Sizes = std::vector<int64_t>;

struct Filters {
  const char* name;
  Shape x;
  int64_t maps;
  Sizes size;
  bool turned;
  Sizes strides = {1, 1}, padding = {0, 0, 0, 0}, dilation = {1, 1};
  int64_t groups = 1;
  DType dtype = DType::f32;
};

Graph weight_gradient(const Filters& c) {
  Graph graph;
  const Attributes attributes = {{"strides", c.strides},
                                 {"padding", c.padding},
                                 {"dilation", c.dilation},
                                 {"groups", c.groups},
                                 {"sizes", c.size}};
  const Sizes outputs = windows_of(attributes, c.size).outputs(Sizes{c.x.begin() + 1, c.x.end() - 1});
  const Shape y = Shape{c.x[0]}.concat(Shape(outputs)).concat({c.maps});
  const Value x = graph.input("x", c.dtype, c.x), g = graph.input("g", c.dtype, y);
  graph.output("dw", graph.add("convolution_weight_gradient", {x, g}, attributes));
  return graph;
}

int count(const Graph& graph, const std::string& op) {
  int found = 0;
  for (int i = 0; i < graph.node_count(); ++i) found += graph.node(i).op->name == op;
  return found;
}

Tensor run(const Graph& graph) {
  Variables variables;
  const auto program = compile_for_cpu(graph, variables, {});
  std::vector<Tensor> inputs;
  for (const char* name : {"x", "g"}) {
    const Value input = graph.leaves(LeafKind::input)[inputs.size()];
    inputs.push_back(case_data({"numbers", name, {{graph.shape(input)}}}, 0, DType::f32, DType::f32));
    program->bind(name, inputs.back().data());
  }
  program->run(0);
  return program->output("dw").clone();
}

}  // namespace

TEST_CASE("columns, by the formula") {
  for (const OpCase& c : cases_of(*find_op("columns"))) {
    INFO(c.to_string());
    const CaseRun run = run_case(c, DType::f64, DType::f64, ProgramOptions{.plain = true});
    const Tensor &x = run.inputs[0], &y = run.outputs[0];
    const auto &size = c.attributes.integers("sizes"), &strides = c.attributes.integers("strides"),
               &padding = c.attributes.integers("padding"), &dilation = c.attributes.integers("dilation");
    const int64_t N = x.shape()[0], H = x.shape()[1], W = x.shape()[2], C = x.shape()[3];
    const int64_t P = (H + padding[0] + padding[1] - dilation[0] * (size[0] - 1) - 1) / strides[0] + 1;
    const int64_t Q = (W + padding[2] + padding[3] - dilation[1] * (size[1] - 1) - 1) / strides[1] + 1;
    REQUIRE(y.shape() == Shape{size[0] * size[1] * C, N * P * Q});
    for (int64_t row = 0, i = 0; row < y.shape()[0]; ++row)
      for (int64_t column = 0; column < y.shape()[1]; ++column, ++i) {
        const int64_t h = column / Q % P * strides[0] - padding[0] + row / C / size[1] * dilation[0];
        const int64_t w = column % Q * strides[1] - padding[2] + row / C % size[1] * dilation[1];
        const bool inside = h >= 0 && h < H && w >= 0 && w < W;
        REQUIRE(y.at(i) == (inside ? x.at(((column / (P * Q) * H + h) * W + w) * C + row % C) : 0));
      }
  }
}

TEST_CASE("gradients of many filters become products of the same sums") {
  // 2^30 multiplications and 384 maps are the least; rows, maps and sums go into fours.
  const Filters all[] = {
      {"3x3, padded", {8, 24, 16, 104}, 384, {3, 3}, true, {1, 1}, {1, 1, 1, 1}},
      {"strides and dilation", {16, 26, 25, 64}, 384, {3, 5}, true, {2, 1}, {1, 0, 2, 1}, {2, 3}},
      {"1x1", {8, 20, 20, 1024}, 512, {1, 1}, true},
      {"too few maps", {8, 24, 24, 128}, 380, {3, 3}, false, {1, 1}, {1, 1, 1, 1}},
      {"too little work", {2, 12, 12, 64}, 384, {3, 3}, false},
      {"maps that are odd", {8, 24, 24, 128}, 385, {3, 3}, false},
      {"sums that are odd", {1, 63, 61, 100}, 384, {3, 3}, false},
      {"rows that are odd", {8, 24, 24, 101}, 384, {3, 3}, false, {1, 1}, {1, 1, 1, 1}},
      {"in groups", {8, 24, 24, 256}, 384, {3, 3}, false, {1, 1}, {1, 1, 1, 1}, {1, 1}, 2},
      {"16 bits", {8, 24, 24, 128}, 384, {3, 3}, false, {1, 1}, {1, 1, 1, 1}, {1, 1}, 1, DType::f16},
      {"columns beyond 1 GiB", {64, 64, 64, 128}, 384, {3, 3}, false, {1, 1}, {1, 1, 1, 1}},
  };
  for (const Filters& c : all) {
    INFO(c.name);
    const Graph before = weight_gradient(c), after = with_product_gradients(before);
    CHECK(count(after, "matmul") == (c.turned ? 1 : 0));
    CHECK(count(after, "columns") == (c.turned ? 2 : 0));
    CHECK(count(after, "convolution_weight_gradient") == (c.turned ? 0 : 1));
    if (!c.turned) continue;
    // Numbers are uniform in [-2, 2), so a sum of n products is about 4/3 sqrt(n); f32 rounds each addition.
    const double sums = double(before.shape(before.leaves(LeafKind::input)[1]).elements() / c.maps);
    CHECK(difference(run(after), run(before), 4e-7 * std::sqrt(sums) * std::sqrt(sums)) == "");
  }
}

TEST_CASE("columns are made just before they are read") {
  Graph graph;
  const Shape image{8, 24, 24, 128}, maps{8, 24, 24, 384};
  const Value x = graph.input("x", DType::f32, image), a = graph.input("a", DType::f32, {8 * 24 * 24, 128}),
              b = graph.input("b", DType::f32, {128, 384});
  const Value product = graph.add("matmul", {a, b}, {{"transpose_a", int64_t(0)}, {"transpose_b", int64_t(0)}});
  const Sizes ones = {1, 1}, padding = {1, 1, 1, 1}, size = {3, 3};
  graph.output(
      "dw",
      graph.add(
          "convolution_weight_gradient", {x, reshape(graph, product, maps)},
          {{"strides", ones}, {"padding", padding}, {"dilation", ones}, {"groups", int64_t(1)}, {"sizes", size}}));
  std::string ops;
  for (const LoweredKernel& kernel : lower(graph, {.passes = kUsualPasses | LowerPass::product_gradients}).kernels)
    ops += text(kernel.name(), " ");
  CHECK(ops == "matmul columns columns matmul ");
}

TEST_CASE("columns of a variable are made before it is written") {
  Graph graph;
  const Shape image{8, 24, 24, 128}, maps{8, 24, 24, 384};
  const Expr x(graph, graph.variable("x", DType::f32, image)), g(graph, graph.input("g", DType::f32, maps));
  const Sizes ones = {1, 1}, padding = {1, 1, 1, 1}, size = {3, 3};
  graph.output(
      "dw",
      graph.add(
          "convolution_weight_gradient", {x, exp(g)},
          {{"strides", ones}, {"padding", padding}, {"dilation", ones}, {"groups", int64_t(1)}, {"sizes", size}}));
  graph.assign(x, x * 2);
  const Lowered lowered = lower(graph, {.passes = kUsualPasses | LowerPass::product_gradients});
  INFO(to_string(lowered));
  size_t read = 0, written = 0;
  for (size_t k = 0; k < lowered.kernels.size(); ++k) {
    if (std::ranges::count(lowered.kernels[k].outputs, x.value())) written = k;
    else if (std::ranges::count(lowered.kernels[k].inputs, x.value())) read = k;
  }
  CHECK(read < written);
}

TEST_CASE("gradients of filters of single pixels are sums over the pixels of all samples, in double") {
  for (const auto& [channels, maps] : {std::pair<int64_t, int64_t>{9, 5}, {5, 9}, {64, 64}}) {
    INFO(channels << " channels, " << maps << " maps");
    const Graph graph = weight_gradient({"", {3, 33, 32, channels}, maps, {1, 1}, false});
    const Tensor dw = run(graph);
    const auto data = [&](const char* name, int64_t columns) {
      return case_data({"numbers", name, {{{3, 33, 32, columns}}}}, 0, DType::f32, DType::f32);
    };
    const Tensor x = data("x", channels), g = data("g", maps);
    for (int64_t k = 0; k < maps; ++k)
      for (int64_t c = 0; c < channels; ++c) {
        double sum = 0, size = 0;
        for (int64_t pixel = 0; pixel < 3 * 33 * 32; ++pixel) {
          const double product = g.at(pixel * maps + k) * x.at(pixel * channels + c);
          sum += product, size += std::abs(product);
        }
        REQUIRE(std::abs(dw.at(k * channels + c) - sum) < 1e-6 * size);
      }
  }
}
