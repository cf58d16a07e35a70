// The elementwise functions written a second time, in long double and with the standard library, and where to try them.
#pragma once
#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

namespace formulas {

using L = long double;

struct Range {
  double low, high;
};

struct Formula {
  std::string_view name;
  L (*value)(L a, L b, L c);
  Range a, b, c;
  // What cancels in the value: its rounding errors are relative to this instead of to the value.
  L (*scale)(L a, L b, L c) = nullptr;
};

inline L logistic(L x) { return 1 / (1 + std::exp(-x)); }
inline L gelu_tanh(L x) { return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PIl) * (x + 0.044715L * x * x * x))); }
inline L rectified(L x, L slope) { return std::fmax(x, 0.0L) + slope * std::fmin(x, 0.0L); }
inline L hinge(L score, L target, L margin) { return std::fmax(0.0L, margin - (2 * target - 1) * score); }
inline L huber(L d, L sigma) {
  return std::fabs(d) < 1 / (sigma * sigma) ? 0.5L * sigma * sigma * d * d : std::fabs(d) - 0.5L / (sigma * sigma);
}

inline L by_chance(L x, L step, L chance) {
  const L below = std::floor(std::fabs(x) / step), beyond = std::fabs(x) / step - below;
  return std::copysign((below + (1 - chance <= beyond)) * step, x);
}

// To the nearest number of a type, of two the even one: the digits of its mantissa before the point, and whole.
inline L nearest(L x, int bits, int least) {
  const int exponent = std::max(std::ilogb(x), least) - bits;
  return x == 0 ? x : std::ldexp(std::nearbyint(std::ldexp(x, -exponent)), exponent);
}

constexpr Range kAny{-4, 4}, kPositive{0.05, 6}, kUnused{1, 1};

inline std::vector<Formula> all() {
  const auto sum = [](L a, L b, L) { return std::fabs(a) + std::fabs(b); };
  const auto product = [](L a, L b, L c) { return std::fabs(a * b) + std::fabs(c); };
  const auto one = [](L, L, L) { return 1.0L; };
  return {
      {"identity", [](L a, L, L) { return a; }, kAny, kUnused, kUnused},
      {"add", [](L a, L b, L) { return a + b; }, kAny, kAny, kUnused, sum},
      {"sub", [](L a, L b, L) { return a - b; }, kAny, kAny, kUnused, sum},
      {"mul", [](L a, L b, L) { return a * b; }, kAny, kAny, kUnused},
      {"div", [](L a, L b, L) { return a / b; }, kAny, kPositive, kUnused},
      {"mul_add", [](L a, L b, L c) { return a * b + c; }, kAny, kAny, kAny, product},
      {"neg", [](L a, L, L) { return -a; }, kAny, kUnused, kUnused},
      {"reciprocal", [](L a, L, L) { return 1 / a; }, kPositive, kUnused, kUnused},
      {"square", [](L a, L, L) { return a * a; }, kAny, kUnused, kUnused},
      {"sqrt", [](L a, L, L) { return std::sqrt(a); }, kPositive, kUnused, kUnused},
      {"rsqrt", [](L a, L, L) { return 1 / std::sqrt(a); }, kPositive, kUnused, kUnused},
      {"pow", [](L a, L b, L) { return std::pow(a, b); }, kPositive, kAny, kUnused},
      {"abs", [](L a, L, L) { return std::fabs(a); }, kAny, kUnused, kUnused},
      {"sign", [](L a, L, L) { return L((a > 0) - (a < 0)); }, kAny, kUnused, kUnused},
      {"minimum", [](L a, L b, L) { return std::fmin(a, b); }, kAny, kAny, kUnused},
      {"maximum", [](L a, L b, L) { return std::fmax(a, b); }, kAny, kAny, kUnused},
      {"clip", [](L a, L b, L c) { return std::fmin(std::fmax(a, b), c); }, kAny, {-2, -0.5}, {0.5, 2}},
      {"rint", [](L a, L, L) { return std::rint(a); }, {-40, 40}, kUnused, kUnused},
      {"floor", [](L a, L, L) { return std::floor(a); }, {-40, 40}, kUnused, kUnused},
      {"spacing",
       [](L a, L b, L c) { return std::exp2(std::rint(std::fmax(L(std::ilogb(a)), c) - b)); },
       {-400, 400},
       {1, 15},
       {-14, 6}},
      {"round_by_chance", [](L a, L b, L c) { return by_chance(a, b, c); }, kAny, kPositive, {0, 1}},
      {"as_f32", [](L a, L, L) { return nearest(a, 23, -126); }, kAny, kUnused, kUnused},
      {"as_f16", [](L a, L, L) { return nearest(a, 10, -14); }, {-400, 400}, kUnused, kUnused},
      {"as_bf16", [](L a, L, L) { return nearest(a, 7, -126); }, {-400, 400}, kUnused, kUnused},
      {"as_fixed",
       [](L a, L b, L c) { return std::fmin(std::fmax(std::rint(a / b) * b, -c - b), c); },
       kAny,
       {0.25, 0.25},
       {0.75, 0.75}},
      {"equal", [](L a, L b, L) { return L(a == b); }, {-2, 2}, {-2, 2}, kUnused},
      {"not_equal", [](L a, L b, L) { return L(a != b); }, {-2, 2}, {-2, 2}, kUnused},
      {"less", [](L a, L b, L) { return L(a < b); }, {-2, 2}, {-2, 2}, kUnused},
      {"less_equal", [](L a, L b, L) { return L(a <= b); }, {-2, 2}, {-2, 2}, kUnused},
      {"greater", [](L a, L b, L) { return L(a > b); }, {-2, 2}, {-2, 2}, kUnused},
      {"greater_equal", [](L a, L b, L) { return L(a >= b); }, {-2, 2}, {-2, 2}, kUnused},
      {"is_finite", [](L a, L, L) { return L(std::isfinite(a)); }, kAny, kUnused, kUnused},
      {"select", [](L a, L b, L c) { return a != 0 ? b : c; }, kAny, kAny, kAny},
      {"exp", [](L a, L, L) { return std::exp(a); }, {-80, 80}, kUnused, kUnused},
      {"exp2", [](L a, L, L) { return std::exp2(a); }, {-100, 100}, kUnused, kUnused},
      {"expm1", [](L a, L, L) { return std::expm1(a); }, {-8, 20}, kUnused, kUnused},
      {"log", [](L a, L, L) { return std::log(a); }, kPositive, kUnused, kUnused},
      {"log2", [](L a, L, L) { return std::log2(a); }, kPositive, kUnused, kUnused},
      {"log1p", [](L a, L, L) { return std::log1p(a); }, {-0.9, 10}, kUnused, kUnused},
      {"safelog", [](L a, L, L) { return std::log(std::fmax(a, std::exp(-50.0L))); }, {-1, 3}, kUnused, kUnused},
      {"sin", [](L a, L, L) { return std::sin(a); }, {-10, 10}, kUnused, kUnused},
      {"cos", [](L a, L, L) { return std::cos(a); }, {-10, 10}, kUnused, kUnused},
      {"erf", [](L a, L, L) { return std::erf(a); }, kAny, kUnused, kUnused},
      {"tanh", [](L a, L, L) { return std::tanh(a); }, kAny, kUnused, kUnused},
      {"logistic", [](L a, L, L) { return logistic(a); }, {-10, 10}, kUnused, kUnused},
      {"tanh2", [](L a, L, L) { return (std::exp2(2 * a) - 1) / (std::exp2(2 * a) + 1); }, kAny, kUnused, kUnused},
      {"logistic2", [](L a, L, L) { return 1 / (1 + std::exp2(-a)); }, {-10, 10}, kUnused, kUnused},
      {"softsign", [](L a, L, L) { return a / (1 + std::fabs(a)); }, kAny, kUnused, kUnused},
      {"hard_sigmoid",
       [](L a, L b, L c) { return std::fmax(0.0L, std::fmin(1.0L, a * b + c)); },
       kAny,
       {0.1, 0.4},
       {0.3, 0.7},
       one},
      {"sign_ste", [](L a, L, L) { return a < 0 ? -1.0L : 1.0L; }, kAny, kUnused, kUnused},
      {"relu", [](L a, L, L) { return std::fmax(a, 0.0L); }, kAny, kUnused, kUnused},
      {"leaky_relu", [](L a, L b, L) { return rectified(a, b); }, kAny, {-0.5, 0.5}, kUnused},
      {"relu_clip", [](L a, L b, L c) { return std::fmin(rectified(a, b), c); }, kAny, {-0.5, 0.5}, {0.5, 2}},
      {"elu", [](L a, L b, L) { return a > 0 ? a : b * (std::exp(a) - 1); }, kAny, {0.5, 2}, kUnused},
      {"softplus", [](L a, L, L) { return std::log1p(std::exp(a)); }, {-20, 20}, kUnused, kUnused},
      {"swish", [](L a, L, L) { return a * logistic(a); }, {-10, 10}, kUnused, kUnused},
      {"gelu", [](L a, L, L) { return a / 2 * (1 + std::erf(a / std::sqrt(2.0L))); }, kAny, kUnused, kUnused, one},
      {"gelu_tanh", [](L a, L, L) { return gelu_tanh(a); }, kAny, kUnused, kUnused, one},
      {"bce_logits",
       [](L a, L b, L) { return -b * std::log(logistic(a)) - (1 - b) * std::log(logistic(-a)); },
       {-8, 8},
       {0.05, 0.95},
       kUnused,
       [](L a, L, L) { return 1 + std::fabs(a); }},
      {"smooth_l1", [](L a, L b, L) { return huber(a, b); }, kAny, {0.5, 2}, kUnused, one},
      {"square_hinge",
       [](L a, L b, L c) { return hinge(a, b, c) * hinge(a, b, c); },
       kAny,
       {0, 1},
       {0.5, 2},
       [](L, L, L) { return 20.0L; }},
      {"shift", [](L a, L b, L) { return std::copysign(a * std::exp2(std::rint(std::log2(std::fabs(b)))), a * b); },
       kAny, kPositive, kUnused},
  };
}

// Whether the derivative is meant to be another than the value's.
inline bool straight_through(std::string_view name) {
  return name == "sign_ste" || name == "as_f32" || name == "as_f16" || name == "as_bf16" || name == "as_fixed";
}

// Operands through which no gradient is meant to flow: steps, choices, and the exponent of a shift.
inline bool without_gradient(std::string_view name, int operand) {
  for (std::string_view none : {"sign", "rint", "floor", "spacing", "round_by_chance", "is_finite", "equal",
                                "not_equal", "less", "less_equal", "greater", "greater_equal"})
    if (name == none) return true;
  return (name == "select" && operand == 0) || (name == "shift" && operand == 1) || (name == "as_fixed" && operand > 0);
}

}  // namespace formulas
