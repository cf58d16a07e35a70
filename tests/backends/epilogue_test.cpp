// What products, convolutions and poolings do to their result before it is stored, and where they do not.
#include "backends/graph/windows.h"
#include "tests/backends/lower_check.h"

using namespace neon;
using namespace neon::test;

TEST_CASE("the end of a product writes a variable") {
  Check c;
  Expr x = c.input("x", array({1, 2}, {1, -2})), w = c.input("w", array({2, 2}, {1, 2, 3, 4}));
  Expr b = c.variable("b", array({1, 2}, {7, 1}));
  c.graph.assign(b, apply("relu", Expr(c.graph, matmul(c.graph, x, w)) + b));
  c.expect("b", {2, 0});
  c.agree();
}

TEST_CASE("a bias of more axes than the product is no epilogue") {
  Check c;
  Expr x = c.input("x", array({2, 2}, {1, 0, 0, 1})), w = c.input("w", array({2, 3}, {1, 2, 3, 4, 5, 6}));
  Expr b = c.variable("b", array({1, 1, 3}, {10, 20, 30}));
  c.graph.output("y", Expr(c.graph, matmul(c.graph, x, w)) + b);
  c.expect("y", {11, 22, 33, 14, 25, 36});
  c.agree();
}

TEST_CASE("a product of nothing with a bias") {
  Check c;
  Expr x = c.input("x", array({2, 0}, {0})), w = c.input("w", array({0, 3}, {0}));
  Expr b = c.variable("b", array({3}, {1, -2, 3}));
  c.graph.output("y", apply("relu", Expr(c.graph, matmul(c.graph, x, w)) + b));
  c.expect("y", {1, 0, 3, 1, 0, 3});
  c.agree();
}

TEST_CASE("NaN passes the end of a product") {
  const DType dtype = GENERATE(DType::f64, DType::f32, DType::bf16, DType::f16);
  Check c;
  Expr x = c.input("x", array({3, 2}, {1, 1, kNaN, 1, -1, -1}, dtype));
  Expr w = c.variable("w", array({2, 2}, {1, -2, 1, -2}, dtype));
  c.graph.output("y", apply("relu", Expr(c.graph, matmul(c.graph, x, w))));
  c.expect("y", {2, 0, kNaN, kNaN, 0, 4});
  c.agree();
}

namespace {

// x (2,1,2,2) · w (2,1,1,2), padded to three columns
Expr small_convolution(Check& c, Expr x, Expr w) {
  const Windows windows{.size = {1, 1}, .strides = {1, 1}, .before = {0, 1}, .after = {0, 0}, .dilation = {1, 1}};
  return {c.graph, convolution(c.graph, x, w, windows, 1)};
}

}  // namespace

TEST_CASE("bias and relu at the end of a convolution, NaN passes") {
  const DType dtype = GENERATE(DType::f64, DType::f32, DType::bf16, DType::f16);
  const bool with_bias = GENERATE(false, true);
  Check c;
  Expr x = c.input("x", array({2, 1, 2, 2}, {1, 1, kNaN, 1, -1, -1, 2, 0}, dtype));
  Expr w = c.variable("w", array({2, 1, 1, 2}, {1, 1, -2, -2}, dtype));
  Expr y = small_convolution(c, x, w);
  if (with_bias) y = y + c.variable("b", array({2}, {1, -1}, dtype));
  c.graph.output("y", apply("relu", y));
  if (with_bias) c.expect("y", {1, 0, 3, 0, kNaN, kNaN, 1, 0, 0, 3, 3, 0});
  else c.expect("y", {0, 0, 2, 0, kNaN, kNaN, 0, 0, 0, 4, 2, 0});
  c.agree();
  Variables store;
  CHECK(compile_for_cpu(c.graph, store)->implementations().size() == 1);
}

TEST_CASE("a device may leave relus after convolutions of several pixels in f32 to other kernels") {
  const auto kernels_with_relu = [](DType dtype, int64_t size) {
    Graph graph;
    const Value x = graph.input("x", dtype, {1, 4, 4, 2}), w = graph.variable("w", dtype, {2, size, size, 2});
    const Windows windows{
        .size = {size, size}, .strides = {1, 1}, .before = {0, 0}, .after = {0, 0}, .dilation = {1, 1}};
    const Expr y = Expr(graph, convolution(graph, x, w, windows, 1)) + Expr(graph, graph.variable("b", dtype, {2}));
    graph.output("y", apply("relu", y));
    const Lowered lowered = lower(graph, {.kernels = {.relus_apart = true}});
    CHECK(lowered.kernels.size() == (lowered.kernels[0].relu() ? 1 : 2));
    CHECK(bool(lowered.kernels[0].bias()));
    return lowered.kernels[0].relu();
  };
  CHECK_FALSE(kernels_with_relu(DType::f32, 3));
  CHECK(kernels_with_relu(DType::f32, 1));
  CHECK(kernels_with_relu(DType::f16, 3));
}

TEST_CASE("a convolution that somebody else reads keeps its result") {
  Check c;
  Expr x = c.input("x", array({1, 1, 1, 2}, {1, 2}));
  Expr w = c.variable("w", array({1, 1, 1, 2}, {1, -2}));
  Expr y = small_convolution(c, x, w);
  c.graph.output("y", y);
  c.graph.output("relu", apply("relu", y));
  c.expect("y", {0, -3});
  c.expect("relu", {0, 0});
  c.agree();
}

TEST_CASE("relu at the end of pooling: positions are those of the largest, NaN passes") {
  const DType dtype = GENERATE(DType::f64, DType::f32, DType::bf16, DType::f16);
  Check c;
  Expr x = c.input("x", array({1, 2, 4, 1}, {-3, -1, 5, 2, -2, -4, kNaN, 6}, dtype));
  const std::vector<int64_t> window = {2, 2, 1};
  const auto pooled = c.graph.add_all(
      "pool_max", {x}, {{"window", window}, {"strides", window}, {"padding", std::vector<int64_t>(6, 0)}});
  c.graph.output("y", apply("relu", Expr(c.graph, pooled[0])));
  c.graph.output("position", pooled[1]);
  c.expect("y", {0, kNaN});
  c.expect("position", {1, 2});
  c.agree();
  Variables store;
  CHECK(compile_for_cpu(c.graph, store)->implementations().size() == 1);
}
