// Both gradients of a convolution in one kernel, on a device that has one.
#include "backends/graph/both_gradients.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "backends/graph/expression.h"
#include "backends/graph/ops.h"
#include "tests/backends/both_gradients_cases.h"
#include "tests/backends/read_too_early.h"

using namespace neon;
using namespace neon::test;

namespace {

using Numbers = std::vector<int64_t>;

bool makes_all(const LoweredKernel&, const Graph&, const DeviceKernels&) { return true; }

Lowered lowered(const Graph& graph) {
  return lower(graph, {.passes = kUsualPasses | PassSet{LowerPass::join, LowerPass::both_gradients},
                       .kernels = {.makes_both_gradients = makes_all}});
}

int64_t together(const Lowered& of) {
  return std::ranges::count_if(of.kernels,
                               [](const LoweredKernel& kernel) { return kernel.takes(Attachment::Kind::filters); });
}

const BothGradientsCase kCase = both_gradients_cases().front();

}  // namespace

TEST_CASE("both gradients of a convolution are one kernel with two results") {
  const Lowered of = lowered(both_gradients(kCase, DType::f32));
  INFO(to_string(of));
  REQUIRE(of.kernels.size() == 1);
  const LoweredKernel& kernel = of.kernels[0];
  CHECK(kernel.is(ops::convolution_data_gradient));
  CHECK(summary(kernel) == "convolution_data_gradient + convolution_weight_gradient");
  REQUIRE(kernel.outputs.size() == 2);
  CHECK(of.graph.shape(kernel.outputs[0]) == kCase.x);
  CHECK(of.graph.shape(kernel.outputs[1]) == kCase.w);
  CHECK(kernel.inputs.size() == 3);
  CHECK(lower(both_gradients(kCase, DType::f32), {.passes = kUsualPasses | LowerPass::both_gradients}).kernels.size() ==
        2);
}

TEST_CASE("gradients of unlike convolutions stay apart") {
  const auto with = [](const Numbers& padding, const Numbers& dilation) {
    BothGradientsCase c = kCase;
    c.by_filters = {{"strides", Numbers{1, 1}},
                    {"padding", padding},
                    {"dilation", dilation},
                    {"groups", int64_t(6)},
                    {"sizes", Numbers{3, 3}}};
    return c;
  };
  for (const BothGradientsCase& c : {with({0, 2, 1, 1}, {1, 1}), with({2, 2, 2, 2}, {2, 2})}) {
    const Lowered of = lowered(both_gradients(c, DType::f32));
    INFO(to_string(of));
    CHECK(of.kernels.size() == 2);
    CHECK(together(of) == 0);
  }
}

TEST_CASE("a gradient by filters whose image is made of the gradient by the input comes after it") {
  Graph graph;
  const Value x = graph.input("x", DType::f32, kCase.x), w = graph.input("w", DType::f32, kCase.w),
              y = graph.input("y", DType::f32, kCase.y);
  const Value by_input = graph.add("convolution_data_gradient", {y, w}, kCase.by_input);
  const Expr image = Expr(graph, by_input) * Expr(graph, x);
  graph.output("by filters", graph.add("convolution_weight_gradient", {image, y}, kCase.by_filters));
  const Lowered of = lowered(graph);
  INFO(to_string(of));
  CHECK(together(of) == 0);
  CHECK(read_too_early(of) == -1);
}

TEST_CASE("a gradient by filters that the gradient by the input needs comes before it") {
  Graph graph;
  const Value x = graph.input("x", DType::f32, kCase.x), y = graph.input("y", DType::f32, kCase.y);
  const Value by_filters = graph.add("convolution_weight_gradient", {x, y}, kCase.by_filters);
  const Expr w = Expr(graph, by_filters) * 2;
  graph.output("by input", graph.add("convolution_data_gradient", {y, w}, kCase.by_input));
  const Lowered of = lowered(graph);
  INFO(to_string(of));
  CHECK(together(of) == 0);
  CHECK(read_too_early(of) == -1);
}

TEST_CASE("a gradient by filters whose image is joined of the gradient by the input comes after it") {
  for (const int64_t axis : {0, 3}) {
    INFO("axis " << axis);
    Graph graph;
    Numbers sides = {kCase.x.begin(), kCase.x.end()};
    sides[size_t(axis)] /= 2;
    const Shape part(sides);
    const Value p = graph.input("p", DType::f32, part), w = graph.input("w", DType::f32, kCase.w),
                y = graph.input("y", DType::f32, kCase.y);
    const Value by_input = graph.add("convolution_data_gradient", {y, w}, kCase.by_input);
    const Value sum = graph.add("sum", {by_input}, {{"axes", Numbers{0, 1, 2, 3}}});
    const Expr scaled = Expr(graph, p) * Expr(graph, broadcast_to(graph, sum, part));
    const Value image = graph.add("concat", {scaled, abs(scaled)}, {{"axis", axis}});
    graph.output("by filters", graph.add("convolution_weight_gradient", {image, y}, kCase.by_filters));
    const Lowered of = lowered(graph);
    INFO(to_string(of));
    CHECK(together(of) == 0);
    CHECK(read_too_early(of) == -1);
  }
}

TEST_CASE("two gradients by filters of the same results: the first goes along") {
  Graph graph;
  const Value x = graph.input("x", DType::f32, kCase.x), w = graph.input("w", DType::f32, kCase.w),
              y = graph.input("y", DType::f32, kCase.y), other = graph.input("other", DType::f32, kCase.x);
  graph.output("by input", graph.add("convolution_data_gradient", {y, w}, kCase.by_input));
  graph.output("by filters", graph.add("convolution_weight_gradient", {x, y}, kCase.by_filters));
  graph.output("other", graph.add("convolution_weight_gradient", {other, y}, kCase.by_filters));
  const Lowered of = lowered(graph);
  INFO(to_string(of));
  CHECK(of.kernels.size() == 2);
  CHECK(together(of) == 1);
}
