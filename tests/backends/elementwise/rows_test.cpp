// Every row of the table against a formula of its own, and its derivatives against differences of that formula.
#include <bit>
#include <catch2/catch.hpp>
#include <limits>
#include <random>
#include <set>
#include <string>

#include "backends/elementwise/kernels.h"
#include "formulas.h"
#include "neon/core/tensor.h"

using namespace neon;
using namespace neon::elementwise;
using formulas::Formula;
using formulas::L;

namespace {

constexpr int kPoints = 500;

template <typename R>
struct Points {
  std::vector<R> operand[3], gradient;
};

// Some points are whole or half numbers, so that ties and comparisons are met; where the formula is to be differenced
// there must be none.
template <typename R>
Points<R> points(const Formula& formula, bool with_ties) {
  std::mt19937_64 random(7);
  Points<R> out;
  const formulas::Range ranges[3] = {formula.a, formula.b, formula.c};
  for (int i = 0; i < kPoints; ++i) {
    for (int k = 0; k < 3; ++k) {
      double x = std::uniform_real_distribution<double>(ranges[k].low, ranges[k].high)(random);
      const double tied = std::rint(2 * x) / 2;
      if (with_ties && i % 4 == 0 && tied >= ranges[k].low && tied <= ranges[k].high) x = tied;
      out.operand[k].push_back(R(x));
    }
    out.gradient.push_back(R(std::uniform_real_distribution<double>(-2, 2)(random)));
  }
  return out;
}

template <typename R>
std::vector<R> values(const Row& row, const Points<R>& p) {
  std::vector<R> y(kPoints);
  const R* inputs[3] = {p.operand[0].data(), p.operand[1].data(), p.operand[2].data()};
  block_function<R>(row)(inputs, y.data(), kPoints);
  return y;
}

template <typename R>
std::vector<R> gradients(const Row& row, int operand, const Points<R>& p, const std::vector<R>& y) {
  const R* everything[5] = {p.gradient.data(), p.operand[0].data(), p.operand[1].data(), p.operand[2].data(), y.data()};
  std::vector<const R*> inputs;
  for (int k = 0; k < 5; ++k)
    if (row.reads[operand] >> k & 1) inputs.push_back(everything[k]);
  std::vector<R> out(kPoints);
  derivative_function<R>(row, operand)(inputs.data(), out.data(), kPoints);
  return out;
}

template <typename R>
void check_values(const Row& row, const Formula& formula) {
  const Points<R> p = points<R>(formula, true);
  const std::vector<R> y = values(row, p);
  for (size_t i = 0; i < kPoints; ++i) {
    const L a = p.operand[0][i], b = p.operand[1][i], c = p.operand[2][i];
    const L expected = formula.value(a, b, c);
    const L scale = std::fmax(std::fabs(expected), formula.scale ? formula.scale(a, b, c) : 0);
    INFO(row.name << "(" << double(a) << ", " << double(b) << ", " << double(c) << ") = " << y[i] << ", expected "
                  << double(expected));
    // Eight roundings; functions of a rounded argument (2^x by e^x, say) have the largest.
    if (!(std::fabs(y[i] - expected) <= 8 * std::numeric_limits<R>::epsilon() * scale)) FAIL_CHECK();
  }
}

// (f(x + h) - f(x - h)) / 2h, by the fourth-order formula.
L difference(const Formula& formula, const L x[3], int operand, L step) {
  const L h = step * std::fmin(std::fmax(std::fabs(x[operand]), 0.05L), 1.0L);
  const auto at = [&](L by) {
    L moved[3] = {x[0], x[1], x[2]};
    moved[operand] += by;
    return formula.value(moved[0], moved[1], moved[2]);
  };
  return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
}

template <typename R>
void check_derivative(const Row& row, const Formula& formula, int operand) {
  const Points<R> p = points<R>(formula, false);
  const std::vector<R> y = values(row, p);
  const std::vector<R> got = gradients(row, operand, p, y);
  int checked = 0;
  for (size_t i = 0; i < kPoints; ++i) {
    L x[3] = {p.operand[0][i], p.operand[1][i], p.operand[2][i]};
    const L slope = difference(formula, x, operand, 1e-3L), finer = difference(formula, x, operand, 3e-4L);
    if (std::fabs(slope - finer) > 1e-9L * (1 + std::fabs(slope))) continue;  // a kink within reach
    ++checked;
    const L g = p.gradient[i], expected = g * slope;
    INFO(row.name << " by operand " << operand << " at (" << double(x[0]) << ", " << double(x[1]) << ", "
                  << double(x[2]) << "): " << got[i] << ", expected " << double(expected));
    // The difference is good to 1e-9; the cancellation in forms such as 1 - y^2 is relative to 1.
    const L roundings = 16 * std::numeric_limits<R>::epsilon();
    const L scale = std::fabs(g) * (1 + (formula.scale ? formula.scale(x[0], x[1], x[2]) : 0));
    if (!(std::fabs(got[i] - expected) <= (2e-9L + roundings) * std::fabs(expected) + (2e-9L + roundings) * scale))
      FAIL_CHECK();
  }
  INFO(row.name << " by operand " << operand);
  CHECK(checked > kPoints * 9 / 10);
}

template <typename R>
R value_at(const char* name, R a, R b = 1, R c = 1) {
  const R* inputs[3] = {&a, &b, &c};
  R y;
  block_function<R>(row(name))(inputs, &y, 1);
  return y;
}

template <typename R>
R gradient_at(const char* name, int operand, R g, R a, R b = 1, R c = 1) {
  const Row& r = row(name);
  const R y = value_at(name, a, b, c);
  const R* everything[5] = {&g, &a, &b, &c, &y};
  std::vector<const R*> inputs;
  for (int k = 0; k < 5; ++k)
    if (r.reads[operand] >> k & 1) inputs.push_back(everything[k]);
  R out;
  derivative_function<R>(r, operand)(inputs.data(), &out, 1);
  return out;
}

}  // namespace

TEST_CASE("every row has a formula, and every formula a row") {
  std::set<std::string> in_table, in_test;
  for (const Row& row : rows()) CHECK(in_table.insert(row.name).second);
  for (const Formula& formula : formulas::all()) CHECK(in_test.insert(std::string(formula.name)).second);
  CHECK(in_table == in_test);
}

TEST_CASE("values are those of the formulas") {
  for (const Formula& formula : formulas::all()) {
    check_values<double>(row(formula.name), formula);
    check_values<float>(row(formula.name), formula);
  }
}

TEST_CASE("derivatives are those of the formulas") {
  for (const Formula& formula : formulas::all()) {
    const Row& r = row(formula.name);
    for (int operand = 0; operand < 3; ++operand) {
      INFO(r.name << " by operand " << operand);
      const bool expected = operand < r.arity && !formulas::without_gradient(formula.name, operand);
      CHECK((r.derivatives[operand] != nullptr) == expected);
      if (!r.derivatives[operand] || formulas::straight_through(formula.name)) continue;
      check_derivative<double>(r, formula, operand);
      check_derivative<float>(r, formula, operand);
    }
  }
}

TEST_CASE("what a derivative reads is found from its text") {
  CHECK(row("relu").reads[0] == (kGradient | kOutput));
  CHECK(row("tanh").reads[0] == (kGradient | kOutput));
  CHECK(row("mul").reads[0] == (kGradient | kB));
  CHECK(row("mul").reads[1] == (kGradient | kA));
  CHECK(row("add").reads[1] == kGradient);
  CHECK(row("erf").reads[0] == (kGradient | kA));  // "1.12e..." and "exp" are no operands
  CHECK(row("pow").reads[1] == (kGradient | kA | kB | kOutput));
  CHECK(row("select").reads[0] == 0);
  for (const Row& r : rows())
    for (int operand = 0; operand < r.arity; ++operand)
      if (r.derivatives[operand]) CHECK((r.reads[operand] & kGradient) != 0);
}

TEST_CASE("at kinks and ties the gradient is the convention's") {
  CHECK(gradient_at<float>("relu", 0, 3, 0) == 0);
  CHECK(!std::signbit(value_at<float>("relu", -0.0f)));  // as at the end of a product
  CHECK(gradient_at<float>("leaky_relu", 0, 3, 0, 0.5f) == 1.5f);
  CHECK(gradient_at<float>("abs", 0, 3, 0) == 0);
  CHECK(gradient_at<float>("abs", 0, 3, -2) == -3);
  CHECK(gradient_at<float>("maximum", 0, 3, 2, 2) == 1.5f);
  CHECK(gradient_at<float>("maximum", 1, 3, 2, 2) == 1.5f);
  CHECK(gradient_at<float>("minimum", 0, 3, 2, 2) == 1.5f);
  CHECK(gradient_at<float>("minimum", 1, 3, 2, 2) == 1.5f);
  // As PyTorch has them: by the number while it is not outside, by a bound while the number is and the bounds differ.
  CHECK(gradient_at<float>("clip", 0, 3, -1, -1, 1) == 3);
  CHECK(gradient_at<float>("clip", 0, 3, 1, -1, 1) == 3);
  CHECK(gradient_at<float>("clip", 1, 3, -1, -1, 1) == 0);
  CHECK(gradient_at<float>("clip", 2, 3, 1, -1, 1) == 0);
  CHECK(gradient_at<float>("clip", 1, 3, 0, 1, 1) == 0);
  CHECK(gradient_at<float>("clip", 2, 3, 0, 1, 1) == 0);
  CHECK(gradient_at<float>("sign_ste", 0, 3, 1) == 3);
  CHECK(gradient_at<float>("sign_ste", 0, 3, -0.5f) == 3);
  CHECK(gradient_at<float>("sign_ste", 0, 3, 1.01f) == 0);
  CHECK(value_at<float>("sign_ste", 0) == 1);
  CHECK(value_at<float>("sign_ste", -0.0f) == 1);
  CHECK(gradient_at<float>("pow", 0, 3, 0, 0) == 0);
  CHECK(gradient_at<float>("pow", 1, 3, 0, 2) == 0);
  CHECK(gradient_at<float>("pow", 1, 3, 0, 0) == 0);
  CHECK(gradient_at<float>("pow", 0, 3, -2, 3) == Approx(36));
  CHECK(value_at<float>("safelog", 0) == Approx(-50));
  CHECK(gradient_at<float>("safelog", 0, 3, 0) == 0);
  CHECK(gradient_at<double>("safelog", 0, 3, 1.9287498479639178e-22) == 0);  // e^-50
}

TEST_CASE("rounding to a type is what storing in it does, and its gradient goes straight through") {
  // Of every exponent and sign; halves of a step, which go to the even neighbour, beside ordinary numbers.
  for (const auto& [row, dtype] : {std::pair("as_f16", DType::f16), {"as_bf16", DType::bf16}, {"as_f32", DType::f32}}) {
    INFO(row);
    Tensor stored(dtype, {1});
    int64_t wrong = 0;
    for (uint32_t high = 0; high < 1u << 16; ++high)
      for (const uint32_t low : {0u, 1u, 0x1000u, 0x2fffu, 0x3000u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
        const float x = std::bit_cast<float>(high << 16 | low);
        stored.set(0, x);
        for (const double got : {double(value_at<float>(row, x)), value_at<double>(row, x)})
          wrong += !(std::isnan(x) ? std::isnan(got) : got == stored.at(0) && std::signbit(got) == std::signbit(x));
      }
    CHECK(wrong == 0);
    CHECK(gradient_at<float>(row, 0, 3, 0.1f) == 3);
  }
  // Not first to f32: the tie would go to the even neighbour.
  CHECK(value_at<double>("as_f16", 1 + 0x1p-11 + 0x1p-40) == 1 + 0x1p-10);
  CHECK(value_at<double>("as_bf16", 1 + 0x1p-8 + 0x1p-40) == 1 + 0x1p-7);
  CHECK(value_at<double>("as_f32", 1 + 0x1p-24) == 1);
  CHECK(value_at<double>("as_f32", 1e300) == std::numeric_limits<double>::infinity());
}

TEST_CASE("a zero derivative stays zero beside an infinite gradient") {
  const float inf = std::numeric_limits<float>::infinity();
  CHECK(gradient_at<float>("relu", 0, inf, -1) == 0);
  CHECK(gradient_at<float>("clip", 0, inf, 5, -1, 1) == 0);
  CHECK(gradient_at<float>("maximum", 0, inf, 1, 2) == 0);
  CHECK(gradient_at<float>("select", 1, inf, 0) == 0);
  for (const char* slope : {"leaky_relu", "elu", "relu_clip"}) CHECK(gradient_at<float>(slope, 1, inf, 0) == 0);
  CHECK(value_at<float>("square_hinge", inf, 1, 1) == 0);  // however far on the right side
}

TEST_CASE("a rectifier that just reaches its cut, on the negative side, too, passes nothing back but to the cut") {
  CHECK(gradient_at<float>("relu_clip", 2, 1, 1, 0.5, 1) == 1);
  CHECK(gradient_at<float>("relu_clip", 2, 1, -2, -0.5, 1) == 1);
  for (const int operand : {0, 1}) {
    CHECK(gradient_at<float>("relu_clip", operand, 1, -2, -0.5, 1) == 0);
    CHECK(gradient_at<float>("relu_clip", operand, 1, -2, -0.25, 1) != 0);
  }
}

TEST_CASE("NaN comes through every function that does not test for it") {
  const std::set<std::string> tests = {"equal",   "not_equal",     "less",     "less_equal",
                                       "greater", "greater_equal", "is_finite"};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Row& r : rows()) {
    if (tests.count(r.name)) continue;
    for (int operand = r.name == std::string("select") ? 1 : 0; operand < r.arity; ++operand) {
      const bool sets_bounds =
          r.name == std::string("clip") || r.name == std::string("spacing") || r.name == std::string("as_fixed");
      if (sets_bounds && operand > 0) continue;                                // these are numbers
      if (r.name == std::string("round_by_chance") && operand == 2) continue;  // this is a draw
      double x[3] = {0.75, 0.5, 0.25};
      if (operand == 1 &&
          (r.name == std::string("leaky_relu") || r.name == std::string("relu_clip") || r.name == std::string("elu")))
        x[0] = -0.75;  // where the slope is used
      if (operand == 2 && r.name == std::string("select")) x[0] = 0;
      x[operand] = nan;
      INFO(r.name << " operand " << operand);
      CHECK(std::isnan(value_at<double>(r.name, x[0], x[1], x[2])));
      CHECK(std::isnan(value_at<float>(r.name, float(x[0]), float(x[1]), float(x[2]))));
    }
  }
  CHECK(value_at<double>("not_equal", nan, nan) == 1);
  CHECK(value_at<double>("equal", nan, nan) == 0);
  CHECK(value_at<double>("is_finite", nan) == 0);
  CHECK(value_at<double>("is_finite", std::numeric_limits<double>::infinity()) == 0);
}

TEST_CASE("an unknown function is answered with the nearest") {
  CHECK(find_row("rleu") == nullptr);
  CHECK_THROWS_WITH(row("sofplus"), Catch::Contains("unknown elementwise function 'sofplus'") &&
                                        Catch::Contains("did you mean softplus"));
}
