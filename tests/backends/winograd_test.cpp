// Winograd's convolutions: which they are, that they are nearly as exact as sums, and that threads make no difference
// to what is no sum over tiles. Their numbers are compared with loops by fast_test.cpp, too.
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "backends/cpu/amx.h"
#include "backends/elementwise/kernels.h"
#include "backends/graph/windows.h"
#include "tests/backends/run_case.h"

using namespace neon;
using namespace neon::test;

namespace {

const char* const kOps[] = {"convolution", "convolution_data_gradient", "convolution_weight_gradient"};

struct Convolution {
  Shape x, w;                       // (N,H,W,C), (K,R,S,C)
  std::vector<int64_t> padding;     // before and after, axis by axis
  bool sees_padding_alone = false;  // some windows do, so that there are no turned ones
};

OpCase case_of(const std::string& op, const Convolution& c) {
  const Shape &x = c.x, &w = c.w;
  const Attributes attributes = {{"strides", std::vector<int64_t>{1, 1}},
                                 {"padding", c.padding},
                                 {"dilation", std::vector<int64_t>{1, 1}},
                                 {"groups", int64_t(1)}};
  const int64_t p = x[1] + c.padding[0] + c.padding[1] - w[1] + 1, q = x[2] + c.padding[2] + c.padding[3] - w[2] + 1;
  const Shape y = {x[0], p, q, w[0]};
  const std::string name = text(x, " by ", w, ", padded by ", Shape(c.padding));
  if (op == "convolution_data_gradient")
    return {op, name, {{y}, {w}}, attributes.with("sizes", std::vector<int64_t>{x[1], x[2]}), w[0] * w[1] * w[2]};
  if (op == "convolution_weight_gradient")
    return {op, name, {{x}, {y}}, attributes.with("sizes", std::vector<int64_t>{w[1], w[2]}), x[0] * p * q};
  return {op, name, {{x}, {w}}, attributes, w[1] * w[2] * w[3]};
}
OpCase case_of(const std::string& op, const Shape& x, const Shape& w, int64_t padding) {
  return case_of(op, {x, w, std::vector<int64_t>(4, padding)});
}

bool by_tiles(const OpCase& c, DType dtype) {
  const CaseRun run = run_case(c, dtype, dtype, {.threads = 2});
  REQUIRE(run.implementations.size() == 1);
  const std::string& name = run.implementations[0];
  INFO(c.to_string() << " in " << std::string(name_of(dtype)) << " ran " << name);
  CHECK((!name.starts_with("winograd") || name == text("winograd:", elementwise::active_level().name)));
  return name.starts_with("winograd");
}

}  // namespace

TEST_CASE("convolutions of whole vectors of channels go by tiles, and so do their gradients") {
  const Convolution convolutions[] = {{{2, 31, 26, 48}, {16, 3, 3, 48}, {0, 0, 0, 0}},
                                      {{2, 30, 33, 16}, {32, 3, 3, 16}, {0, 2, 1, 0}},
                                      {{3, 13, 14, 32}, {48, 5, 5, 32}, {2, 2, 2, 2}},
                                      {{2, 33, 30, 32}, {48, 5, 5, 32}, {4, 4, 4, 4}},
                                      {{3, 31, 30, 32}, {64, 5, 5, 32}, {5, 4, 6, 2}, true}};
  for (const Convolution& convolution : convolutions)
    for (const std::string op : kOps) {
      const OpCase c = case_of(op, convolution);
      INFO(c.to_string());
      const bool tiles = op != "convolution_data_gradient" || !convolution.sees_padding_alone;
      CHECK(by_tiles(c, DType::f32) == tiles);
      CHECK(by_tiles(c, DType::f16) == tiles);
      CHECK(by_tiles(c, DType::bf16) == (tiles && !cpu::has_bf16()));
      CHECK(!by_tiles(c, DType::f64));
      const Tensor got = run_case(c, DType::f32, DType::f32, {.threads = 2}).outputs[0],
                   expected = run_case(c, DType::f64, DType::f32, {.threads = 2}).outputs[0];
      CHECK(difference_over_largest(got, expected) < 1e-5);
    }
}

TEST_CASE("few tiles, tiles that images hardly fill, and gradients of few filters are not worth it") {
  for (const char* op : kOps) {
    INFO(op);
    CHECK(by_tiles(case_of(op, {6, 16, 16, 16}, {32, 3, 3, 16}, 1), DType::f32));
    CHECK(!by_tiles(case_of(op, {5, 16, 16, 16}, {32, 3, 3, 16}, 1), DType::f32));  // 80
    CHECK(!by_tiles(case_of(op, {100, 2, 3, 16}, {32, 3, 3, 16}, 1), DType::f32));  // 6 of 16 outputs
    CHECK(!by_tiles(case_of(op, {6, 16, 16, 24}, {32, 3, 3, 24}, 1), DType::f32));
    CHECK(!by_tiles(case_of(op, {6, 16, 16, 16}, {32, 3, 5, 16}, 1), DType::f32));
    const bool of_filters = std::string(op) == "convolution_weight_gradient";
    CHECK(by_tiles(case_of(op, {6, 16, 16, 16}, {16, 3, 3, 16}, 1), DType::f32) == !of_filters);
  }
}

TEST_CASE("many filters are shared by all threads") {
  for (const char* op : kOps) {
    const OpCase c = case_of(op, {8, 23, 21, 96}, {112, 3, 3, 96}, 1);  // 288 tiles: two sets of them
    const CaseRun expected = run_case(c, DType::f64, DType::f32, {.threads = 2});
    CHECK(expected.implementations[0].starts_with("blocks"));
    for (int threads : {1, 2, 3}) {
      INFO(c.to_string() << " with " << threads << " threads");
      const CaseRun run = run_case(c, DType::f32, DType::f32, {.threads = threads});
      CHECK(run.implementations[0].starts_with("winograd"));
      CHECK(difference_over_largest(run.outputs[0], expected.outputs[0]) < 1e-5);
    }
  }
}

TEST_CASE("outputs and gradients of pixels have the same bits with any number of threads") {
  for (const std::string op : {"convolution", "convolution_data_gradient"})
    for (const Shape& w : {Shape{32, 5, 5, 16}, Shape{16, 3, 3, 48}, Shape{112, 3, 3, 96}}) {
      const OpCase c = case_of(op, {9, 19, 22, w[3]}, w, 1);
      const CaseRun one = run_case(c, DType::f32, DType::f32, {.threads = 1});
      CHECK(one.implementations[0].starts_with("winograd"));
      for (int threads : {2, 5}) {
        INFO(c.to_string() << " with " << threads << " threads");
        CHECK(same_bits(run_case(c, DType::f32, DType::f32, {.threads = threads}).outputs[0], one.outputs[0]));
      }
    }
}

namespace {

// y of x (N,H,W,C) and w (K,R,S,C), unpadded, as sums in T one after the other.
template <typename T>
std::vector<T> added_up(const std::vector<float>& x, const Shape& xs, const std::vector<float>& w, const Shape& ws) {
  const int64_t p_count = xs[1] - ws[1] + 1, q_count = xs[2] - ws[2] + 1;
  std::vector<T> y;
  for (int64_t n = 0; n < xs[0]; ++n)
    for (int64_t p = 0; p < p_count; ++p)
      for (int64_t q = 0; q < q_count; ++q)
        for (int64_t k = 0; k < ws[0]; ++k) {
          T sum = 0;
          for (int64_t r = 0; r < ws[1]; ++r)
            for (int64_t i = 0; i < ws[2] * ws[3]; ++i)
              sum += T(x[size_t(((n * xs[1] + p + r) * xs[2] + q) * xs[3] + i)]) *
                     T(w[size_t((k * ws[1] + r) * ws[2] * ws[3] + i)]);
          y.push_back(sum);
        }
  return y;
}

template <typename T>
double rms_error(const T* got, const std::vector<double>& expected) {
  double total = 0;
  for (size_t i = 0; i < expected.size(); ++i) total += std::pow(double(got[i]) - expected[i], 2);
  return std::sqrt(total / double(expected.size()));
}

std::vector<float> normal(size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> draw;
  std::vector<float> out(count);
  for (float& number : out) number = draw(engine);
  return out;
}

struct Convolved {
  std::vector<float> y;
  std::string ran;
};
Convolved convolved(const std::vector<float>& x, const Shape& xs, const std::vector<float>& w, const Shape& ws) {
  Graph graph;
  const Windows windows = windows_of(case_of("convolution", xs, ws, 0).attributes, {ws[1], ws[2]});
  graph.output("y", convolution(graph, graph.input("x", DType::f32, xs), graph.input("w", DType::f32, ws), windows, 1));
  Variables variables;
  const auto program = compile_for_cpu(graph, variables, {.threads = 2});
  program->bind("x", x.data());
  program->bind("w", w.data());
  program->run(0);
  const Tensor y = program->output("y");
  return {{y.as<float>().begin(), y.as<float>().end()}, program->implementations().at(0)};
}

}  // namespace

TEST_CASE("a tile's results are at most two and a half times as far off as sums") {
  const Shape xs = {3, 26, 26, 32};
  const std::vector<float> x = normal(size_t(xs.elements()), 1);
  for (const int64_t size : {3, 5}) {
    const Shape ws = {16, size, size, 32};
    const std::vector<float> w = normal(size_t(ws.elements()), 2);
    const std::vector<double> exact = added_up<double>(x, xs, w, ws);
    const Convolved got = convolved(x, xs, w, ws);
    CHECK(got.ran.starts_with("winograd"));
    INFO("filters of " << size);
    CHECK(rms_error(got.y.data(), exact) < 2.5 * rms_error(added_up<float>(x, xs, w, ws).data(), exact));
  }
}

TEST_CASE("outputs whose windows see nothing but zeros are 0, beside others in their tiles") {
  const int64_t channels = GENERATE(16, 96), size = GENERATE(3, 5);
  const Shape xs = {4, 30, 30, channels}, ws = {32, size, size, channels};
  std::vector<float> x = normal(size_t(xs.elements()), 3);
  // Lines 3 to 9 and columns 5 to 12 of each 13 are black, and all but one pixel of each of the last image's tens.
  const auto black = [&](int64_t n, int64_t h, int64_t w) {
    return n == 3 ? h % 10 > 0 || w % 10 > 0 : (h % 13 >= 3 && h % 13 <= 9) || (w % 13 >= 5 && w % 13 <= 12);
  };
  for (int64_t n = 0; n < xs[0]; ++n)
    for (int64_t h = 0; h < xs[1]; ++h)
      for (int64_t w = 0; w < xs[2]; ++w)
        for (int64_t c = 0; c < channels && black(n, h, w); ++c)
          x[size_t(((n * xs[1] + h) * xs[2] + w) * channels + c)] = 0;
  const std::vector<float> w = normal(size_t(ws.elements()), 4);
  const Convolved got = convolved(x, xs, w, ws);
  CHECK(got.ran.starts_with("winograd"));
  const std::vector<double> exact = added_up<double>(x, xs, w, ws);
  int zeros = 0, wrong = 0, lost = 0;
  for (size_t i = 0; i < exact.size(); ++i) {
    zeros += exact[i] == 0;
    wrong += exact[i] == 0 && got.y[i] != 0;
    lost += std::fabs(exact[i]) > 1e-3 && got.y[i] == 0;
  }
  CHECK(zeros > 20000);
  CHECK(wrong == 0);
  CHECK(lost == 0);
}

TEST_CASE("what is not finite reaches every output whose window sees it, and no other tile") {
  const Shape xs = {6, 18, 18, 16}, ws = {16, 3, 3, 16};  // 4 x 4 tiles of 4 x 4
  std::vector<float> x = normal(size_t(xs.elements()), 3);
  const std::vector<float> w = normal(size_t(ws.elements()), 4), before = convolved(x, xs, w, ws).y;
  const float odd = GENERATE(NAN, INFINITY);
  x[size_t(((1 * 18 + 7) * 18 + 9) * 16 + 5)] = odd;  // lines 5 to 7 and columns 7 to 9 see it: tiles 1, and 1 and 2
  const Convolved after = convolved(x, xs, w, ws);
  CHECK(after.ran.starts_with("winograd"));
  for (int64_t n = 0; n < 6; ++n)
    for (int64_t p = 0; p < 16; ++p)
      for (int64_t q = 0; q < 16; ++q) {
        const size_t i = size_t(((n * 16 + p) * 16 + q) * 16);
        INFO(n << ", " << p << ", " << q);
        const bool sees = n == 1 && p >= 5 && p <= 7 && q >= 7 && q <= 9,
                   of_tile = n == 1 && p / 4 == 1 && (q / 4 == 1 || q / 4 == 2);
        if (sees) CHECK(!std::isfinite(after.y[i]));
        if (!of_tile) CHECK(after.y[i] == before[i]);
      }
}

namespace {

// relu(x * w1 + b) and relu(x * w2), or without relus, channels side by side: written in rows apart. `threads` 0:
// plain.
Tensor side_by_side(DType dtype, bool relus, const std::vector<Tensor>& numbers, int threads) {
  Graph graph;
  Variables variables;
  std::vector<Value> leaves;
  for (size_t i = 0; i < numbers.size(); ++i)
    leaves.push_back(graph.variable(text("leaf", i), dtype, numbers[i].shape()));
  const Windows windows = {.size = {3, 3}, .strides = {1, 1}, .before = {1, 0}, .after = {0, 1}, .dilation = {1, 1}};
  Expr first(graph, convolution(graph, leaves[0], leaves[1], windows, 1)),
      second(graph, convolution(graph, leaves[0], leaves[2], windows, 1));
  first = first + Expr(graph, leaves[3]);
  if (relus) first = apply("relu", first), second = apply("relu", second);
  graph.output("y", graph.add("concat", {first, second}, {{"axis", int64_t(3)}}));
  const auto program =
      compile_for_cpu(graph, variables, {.threads = threads, .also = LowerPass::join, .plain = threads == 0});
  for (size_t i = 0; i < numbers.size(); ++i) variables.at(text("leaf", i)).copy_from(numbers[i]);
  program->run(0);
  if (threads > 0) {
    CHECK(program->implementations().size() == 2);
    for (const std::string& name : program->implementations()) CHECK(name.starts_with("winograd"));
  }
  return program->output("y").clone();
}

}  // namespace

TEST_CASE("bias and relu at the end of tiles, results in rows apart, NaN passes") {
  const DType dtype = GENERATE(DType::f32, DType::f16);
  const bool relus = GENERATE(false, true);
  std::vector<Tensor> numbers;
  for (const Shape& shape : {Shape{6, 17, 17, 16}, Shape{32, 3, 3, 16}, Shape{16, 3, 3, 16}, Shape{32}}) {
    const std::vector<float> drawn = normal(size_t(shape.elements()), unsigned(numbers.size()));
    numbers.emplace_back(dtype, shape);
    for (size_t i = 0; i < drawn.size(); ++i)
      numbers.back().set(int64_t(i), double(drawn[i]) * (shape.rank() == 1 ? 20 : 1));
  }
  const auto check = [&](int64_t image, int64_t images) {
    const Tensor expected = side_by_side(DType::f64, relus, numbers, 0), got = side_by_side(dtype, relus, numbers, 2);
    CHECK(difference_over_largest(got.rows(image, images), expected.rows(image, images)) <
          (dtype == DType::f32 ? 1e-5 : 1e-3));
    return got;
  };
  check(0, 6);
  numbers[0].set(5, NAN);  // of the first pixel: outputs (0..1, 0) see it
  const Tensor got = check(1, 5);
  for (int64_t i = 0; i < 48; ++i) CHECK(std::isnan(got.at(i)));
}
