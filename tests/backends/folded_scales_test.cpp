// Factors of a product's features multiply its weights instead, where both follow from variables that the program does
// not write. Numbers are such that every step is exact in 16 bits.
#include <algorithm>

#include "backends/graph/fuse.h"
#include "backends/graph/lower.h"
#include "backends/graph/ops.h"
#include "backends/graph/windows.h"
#include "tests/backends/lower_check.h"

using namespace neon;
using namespace neon::test;

namespace {

constexpr double kEpsilon = 1.0 / 1024;

// Batch norm as an evaluation has it: features x (...,2) with means 1 and -2, deviations 2 and 1/4, gamma 3 and 1/2,
// beta -1 and 4, so that y[0] = (x[0] - 1) * 3 / 2 - 1 and y[1] = (x[1] + 2) * 2 + 4.
struct Norm {
  explicit Norm(Check& check, DType arithmetic = DType::f32)
      : mean(check.variable("mean", array({2}, {1, -2}, arithmetic))),
        variance(check.variable("variance", array({2}, {4 - kEpsilon, 1.0 / 16 - kEpsilon}, arithmetic))),
        gamma(check.variable("gamma", array({2}, {3, 0.5}, arithmetic))),
        beta(check.variable("beta", array({2}, {-1, 4}, arithmetic))) {}

  Expr operator()(Expr x) const {
    std::vector<int64_t> ones(size_t(x.shape().rank() - 1), 1);
    ones.push_back(2);
    const auto wide = [&](Expr of) { return reshape(of, Shape(ones)); };
    const Expr scale = wide(gamma) * apply("rsqrt", wide(variance) + kEpsilon);
    return cast((cast(x, mean.dtype()) - wide(mean)) * scale + wide(beta), x.dtype());
  }

  Expr mean, variance, gamma, beta;
};

// The kernels of each run, and those that run after a change of the variables alone.
std::pair<int64_t, int64_t> kernels(const Graph& graph) {
  const Lowered lowered = lower(graph);
  UNSCOPED_INFO(to_string(lowered));
  const int64_t once = std::ranges::count_if(lowered.kernels, [](const auto& kernel) { return kernel.is_once(); });
  return {int64_t(lowered.kernels.size()) - once, once};
}

bool is_folded(const Graph& graph) { return kernels(graph).first == 1; }

Windows windows_of_pixels() { return {{1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}}; }

Expr product(Check& c, Expr x, Expr w) { return {c.graph, matmul(c.graph, x, w, false, true)}; }

// x (1,2) = 1, 2; w (2,2) = 3, 1 | -1, 2: features 5 and 3.
Expr small_product(Check& c, DType dtype = DType::f32) {
  return product(c, c.input("x", array({1, 2}, {1, 2}, dtype)), c.variable("w", array({2, 2}, {3, 1, -1, 2}, dtype)));
}

}  // namespace

TEST_CASE("batch norm of an evaluation goes into a convolution's weights and bias, in all types") {
  const DType dtype = GENERATE(DType::f64, DType::f32, DType::bf16, DType::f16);
  const bool by_groups = GENERATE(false, true);
  Check c;
  const Norm norm(c, dtype == DType::f64 ? DType::f64 : DType::f32);
  // Three pixels of two channels, padded by one: each sees itself and the one before.
  const Expr x = c.input("x", array({1, 1, 3, 2}, {1, 2, 3, -1, 0, 2}, dtype));
  const Expr master = c.variable("w", by_groups ? array({2, 1, 2, 1}, {1, 2, -1, 3}, norm.mean.dtype())
                                                : array({2, 1, 2, 2}, {1, 0, 2, 1, 0, 1, -1, 1}, norm.mean.dtype()));
  const Windows windows{.size = {1, 2}, .strides = {1, 1}, .before = {0, 1}, .after = {0, 0}, .dilation = {1, 1}};
  const Expr y(c.graph, convolution(c.graph, x, cast(master, dtype), windows, by_groups ? 2 : 1));
  c.graph.output("y", apply("relu", norm(y)));
  // Features 2, 6 | 7, -5 | 3, 7 by groups, or 4, 1 | 6, -2 | 5, 1, through the formula above.
  if (by_groups) c.expect("y", {0.5, 20, 8, 0, 2, 22});
  else c.expect("y", {3.5, 10, 6.5, 4, 5, 10});
  c.agree();
  CHECK(is_folded(c.graph));
}

TEST_CASE("the scale and shift of a single feature are made after a change of the variables alone") {
  Check c;
  const Expr x = c.input("x", array({1, 1, 3, 2}, {1, 2, 3, -1, 0, 2}));
  const Expr w = c.variable("w", array({1, 1, 1, 2}, {2, 1}));  // 4, 5, 2
  const auto wide = [&](const char* name, double number) {
    return reshape(c.variable(name, array({1}, {number})), {1, 1, 1, 1});
  };
  const Expr y(c.graph, convolution(c.graph, x, w, windows_of_pixels(), 1));
  const Expr scale = wide("gamma", 3) * apply("rsqrt", wide("variance", 4 - kEpsilon) + kEpsilon);
  c.graph.output("y", (y - wide("mean", 1)) * scale + wide("beta", -1));
  c.expect("y", {3.5, 5, 0.5});
  c.agree();
  const Lowered lowered = lower(c.graph);
  INFO(to_string(lowered));
  CHECK(kernels(c.graph).first == 2);  // the convolution; the shift of one feature is no bias of a kernel
  for (const LoweredKernel& kernel : lowered.kernels)
    for (Value input : kernel.inputs)
      CHECK((!kernel.is_once() || outlives_run(lowered.graph, viewed(lowered.graph, input))));
}

TEST_CASE("factors that are made of constants stay where they are") {
  Check c;
  const Expr y = small_product(c);
  const Expr two(c.graph, broadcast_to(c.graph, c.graph.constant(2, DType::f32), {2}));
  c.graph.output("y", y * reshape(two, {1, 2}));
  c.expect("y", {10, 6});
  c.agree();
}

TEST_CASE("batch norm behind a bias goes into a product of either layout") {
  const bool transposed = GENERATE(false, true);
  Check c;
  const Norm norm(c);
  const Expr x = c.input("x", array({2, 2}, {1, 2, 0, 1}));
  const Expr w = c.variable("w", transposed ? array({2, 2}, {3, 1, -1, 2}) : array({2, 2}, {3, -1, 1, 2}));
  const Expr bias = c.variable("b", array({2}, {2, -3}));
  c.graph.output("y", norm(Expr(c.graph, matmul(c.graph, x, w, false, transposed)) + bias));
  c.expect("y", {8, 8, 2, 6});  // features 7, 0 | 3, -1
  c.agree();
  CHECK(is_folded(c.graph));
}

TEST_CASE("divisions, differences and numbers go into weights as well") {
  Check c;
  const Expr by = c.variable("by", array({2}, {4, 0.5})), less = c.variable("less", array({2}, {1, -1}));
  c.graph.output("y", ((small_product(c) - less) / by - less) * 2.0);
  c.expect("y", {0, 18});  // ((5 - 1) / 4 - 1) * 2, ((3 + 1) / 0.5 + 1) * 2
  c.agree();
  CHECK(is_folded(c.graph));
}

TEST_CASE("a shift that is a variable alone becomes the bias, in all types") {
  const DType dtype = GENERATE(DType::f64, DType::f32, DType::bf16, DType::f16);
  Check c;
  const Expr shift = c.variable("b", array({2}, {2, -3}));
  const Expr y = cast(small_product(c, dtype), DType::f32) * 2.0 + shift;
  c.graph.output("y", cast(y, dtype));
  c.expect("y", {12, 3});
  c.agree();
  CHECK(is_folded(c.graph));
}

TEST_CASE("folded weights follow every change of the variables") {
  Check c;
  const Norm norm(c);
  c.graph.output("y", norm(small_product(c)));
  Variables store;
  const auto program = compile_for_cpu(c.graph, store);
  REQUIRE(is_folded(c.graph));
  for (const auto& [name, data] : c.variables) std::memcpy(store.at(name).data(), data.data(), data.bytes());
  program->bind("x", c.inputs.at("x").data());
  const auto now = [&] {
    program->run(0);
    program->run(1);
    return numbers(program->output("y"));
  };
  CHECK(now() == std::vector<double>{5, 14});
  store.at("gamma").set(0, 6);
  store.to_device();
  CHECK(now() == std::vector<double>{11, 14});
  store.at("mean").set(1, -1), store.at("w").set(0, 4);
  store.to_device();
  CHECK(now() == std::vector<double>{14, 12});
}

namespace {

constexpr int64_t kSide = 16, kMaps = 64;

// The sums of images that are 1 everywhere by filters (K,S,S,K) that all are `weight`, in the middle of the images.
double sum_in_the_middle(int64_t size, double weight) { return double(size * size * kMaps) * weight; }

bool goes_by_tiles(const Program& program) {
  return std::ranges::any_of(program.implementations(), [](const auto& name) { return name.starts_with("winograd"); });
}

}  // namespace

TEST_CASE("what a convolution keeps of weights that nobody trains follows every change of them") {
  const DType dtype = GENERATE(DType::f32, DType::bf16, DType::f16);
  const int64_t size = GENERATE(1, 3, 5, 7);  // oneDNN's, and Winograd's
  Check c;
  const Expr x = c.input("x", array({6, kSide, kSide, kMaps}, {1}, dtype));
  const Expr w = c.variable("w", array({kMaps, size, size, kMaps}, {1}, dtype));
  const int64_t side = size / 2;
  const Windows windows{
      .size = {size, size}, .strides = {1, 1}, .before = {side, side}, .after = {side, side}, .dilation = {1, 1}};
  c.graph.output("y", convolution(c.graph, x, w, windows, 1));
  Variables store;
  const auto program = compile_for_cpu(c.graph, store);
  program->bind("x", c.inputs.at("x").data());
  if (dtype == DType::f32) CHECK(goes_by_tiles(*program) == (size == 3 || size == 5));
  for (const double weight : {1.0, 2.0, -0.5}) {
    Tensor& weights = store.at("w");
    for (int64_t i = 0; i < weights.elements(); ++i) weights.set(i, weight);
    store.to_device();
    for (uint64_t run = 0; run < 2; ++run) {
      program->run(run);
      CHECK(program->output("y").at((7 * kSide + 8) * kMaps + 5) ==
            Approx(sum_in_the_middle(size, weight)).epsilon(0.01));
    }
  }
}

TEST_CASE("what is trained, read by others, or not of features stays as it is") {
  Check c;
  const Norm norm(c);
  const Expr y = small_product(c), x(c.graph, c.graph.input("x", DType::f32, {1, 2}));
  SECTION("weights that the program writes") {
    c.graph.output("y", norm(y));
    const Expr w(c.graph, c.graph.variable("w", DType::f32, {2, 2}));
    c.graph.assign(w, w + 1.0);
    c.expect("y", {5, 14});
    c.expect("w", {4, 2, 0, 3});
  }
  SECTION("statistics that the program writes") {
    c.graph.output("y", norm(y));
    c.graph.assign(norm.mean, norm.mean * 2.0);
    c.expect("y", {5, 14});
    c.expect("mean", {2, -4});
  }
  SECTION("a product that is an output, too") {
    c.graph.output("y", norm(y));
    c.graph.output("product", y);
    c.expect("y", {5, 14});
    c.expect("product", {5, 3});
  }
  SECTION("a product that another op reads, too") {
    c.graph.output("y", norm(y) + sum(y, {1}));
    c.expect("y", {13, 22});
  }
  SECTION("numbers of each sample") {
    c.graph.output("y", y * x);
    c.expect("y", {5, 6});
  }
  SECTION("numbers by which it is divided into others") {
    c.graph.output("y", norm.gamma / y);
    c.expect("y", {0.6, 1.0 / 6});
  }
  SECTION("weights that are computed") {
    const Expr w(c.graph, c.graph.variable("w", DType::f32, {2, 2}));
    c.graph.output("y", norm(product(c, x, apply("sign", w))));
    c.expect("y", {2, 10});  // features 3, 1
  }
  c.agree();
  CHECK(kernels(c.graph).second == 0);
}

TEST_CASE("a program that writes weights multiplies by those of each run") {
  Check c;
  const Norm norm(c);
  c.graph.output("y", norm(small_product(c)));
  const Expr w(c.graph, c.graph.variable("w", DType::f32, {2, 2}));
  c.graph.assign(w, w + 2.0);
  Variables store;
  const auto program = compile_for_cpu(c.graph, store);
  for (const auto& [name, data] : c.variables) std::memcpy(store.at(name).data(), data.data(), data.bytes());
  program->bind("x", c.inputs.at("x").data());
  // Both features grow by 2 * (1 + 2) from run to run.
  for (int run = 0; run < 3; ++run) {
    program->run(uint64_t(run));
    CHECK(numbers(program->output("y")) == std::vector<double>{5 + run * 9.0, 14 + run * 12.0});
  }
}

TEST_CASE("weights of fewer bits than the arithmetic keep the rounding of their two casts") {
  Check c;
  const Expr v = c.variable("v", array({1, 2}, {0.1, 0.3}, DType::f64));
  const Expr x = c.input("x", array({1, 1}, {1}, DType::f64));
  c.graph.output("y", Expr(c.graph, matmul(c.graph, x, cast(cast(v, DType::f16), DType::f64))) * 2);
  c.expect("y", {2 * 0.0999755859375, 2 * 0.300048828125});  // the nearest numbers of 11 bits
  c.agree();
}

TEST_CASE("two weights, and weights used twice, are folded each for itself") {
  Check c;
  const Norm norm(c);
  const Expr x = c.input("x", array({1, 2}, {1, 2})), w = c.variable("w", array({2, 2}, {3, 1, -1, 2}));
  const Expr first = norm(product(c, x, w));                                // 5, 14
  c.graph.output("y", product(c, first, w) * reshape(norm.gamma, {1, 2}));  // (15 + 14) * 3, (-5 + 28) / 2
  c.expect("y", {87, 11.5});
  c.agree();
  CHECK(kernels(c.graph).first == 2);
}
