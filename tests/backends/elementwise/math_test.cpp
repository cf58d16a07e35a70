// How exact the functions of math.inc are, in units in the last place, against long double; and their special values.
// Both as the CPU runs them and, where the machine has fma, as a device does.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "backends/elementwise/kernels.h"

using namespace neon::elementwise;
using L = long double;

namespace neon::elementwise::simd_contracted {
extern const RowKernels<float> rows_f32[];
extern const RowKernels<double> rows_f64[];
}  // namespace neon::elementwise::simd_contracted

namespace {

std::vector<Level> arithmetics() {
  std::vector<Level> out = {active_level()};
  if (levels().size() > 1) {
    out.push_back({.name = "contracted", .rows_f32 = simd_contracted::rows_f32, .rows_f64 = simd_contracted::rows_f64});
  }
  return out;
}

// Distance in units in the last place of the expected value (below the normal range: of the smallest subnormal).
template <typename R>
double ulps(R got, L expected) {
  const R rounded = R(expected);
  if (std::isnan(rounded)) return std::isnan(got) ? 0 : 1e30;
  if (std::isnan(got)) return 1e30;
  if (std::isinf(rounded) || std::isinf(got)) return got == rounded ? 0 : 1e30;
  int exponent;
  std::frexp(expected, &exponent);
  exponent = std::max(exponent, std::numeric_limits<R>::min_exponent);
  return double(std::fabs(got - expected) / std::ldexp(L(1), exponent - std::numeric_limits<R>::digits));
}

template <typename R>
std::vector<R> run(const char* name, const std::vector<R>& a, const std::vector<R>& b = {},
                   const Level& level = active_level()) {
  std::vector<R> y(a.size());
  const R* inputs[2] = {a.data(), b.data()};
  block_function<R>(row(name), 0, level)(inputs, y.data(), int64_t(a.size()));
  return y;
}

struct Sweep {
  const char* name;
  L (*exact)(L);
  double low32, high32, low64, high64;  // even steps between these, and magnitudes down to 2^-60
  double bound32, bound64;
};

template <typename R>
void sweep(const Sweep& s, const Level& level, double low, double high, double bound) {
  constexpr int kCount = 300000;
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> even(low, high), power(-60, std::log2(std::max(std::fabs(low), high)));
  std::vector<R> x(kCount);
  for (int i = 0; i < kCount; ++i) {
    const double tiny = std::exp2(power(random)) * (i & 1 ? 1 : -1);
    x[size_t(i)] = R(i % 3 || tiny < low || tiny > high ? even(random) : tiny);
  }
  const std::vector<R> y = run(s.name, x, {}, level);
  double worst = 0;
  R at = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double error = ulps<R>(y[i], s.exact(x[i]));
    if (error > worst) worst = error, at = x[i];
  }
  INFO(level.name << " " << s.name << " of f" << 8 * sizeof(R) << ": worst at " << at);
  CHECK(worst <= bound);
}

L exact_logistic(L x) { return x > 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }
L exact_softplus(L x) { return std::fmax(x, 0.0L) + std::log1p(std::exp(-std::fabs(x))); }

template <typename R>
void special_values(const Level& level) {
  using N = std::numeric_limits<R>;
  const R inf = N::infinity(), nan = N::quiet_NaN(), big = N::max(), tiny = N::denorm_min(), small = N::min();
  const struct {
    const char* name;
    L (*exact)(L);
  } functions[] = {
      {"exp", [](L x) { return std::exp(x); }},
      {"exp2", [](L x) { return std::exp2(x); }},
      {"expm1", [](L x) { return std::expm1(x); }},
      {"log", [](L x) { return std::log(x); }},
      {"log2", [](L x) { return std::log2(x); }},
      {"log1p", [](L x) { return std::log1p(x); }},
      {"tanh", [](L x) { return std::tanh(x); }},
      {"erf", [](L x) { return std::erf(x); }},
      {"logistic", exact_logistic},
      {"softplus", exact_softplus},
      {"sqrt", [](L x) { return std::sqrt(x); }},
      {"rint", [](L x) { return std::rint(x); }},
      {"floor", [](L x) { return std::floor(x); }},
      {"abs", [](L x) { return std::fabs(x); }},
  };
  const std::vector<R> x = {0,      R(-0.0), inf, -inf, nan,  1,     -1,    R(0.5), R(-0.5),
                            R(2.5), R(-2.5), big, -big, tiny, -tiny, small, -small, R(-1.5)};
  for (const auto& f : functions) {
    const std::vector<R> y = run(f.name, x, {}, level);
    for (size_t i = 0; i < x.size(); ++i) {
      INFO(level.name << " " << f.name << "(" << x[i] << ") of f" << 8 * sizeof(R) << " = " << y[i]);
      CHECK(ulps<R>(y[i], f.exact(x[i])) <= 2.5);
      if (y[i] == 0) CHECK(std::signbit(y[i]) == std::signbit(R(f.exact(x[i]))));
    }
  }
}

}  // namespace

TEST_CASE("functions are exact to a few units in the last place") {
  const Sweep sweeps[] = {
      {"exp", [](L x) { return std::exp(x); }, -106, 90, -750, 712, 1, 1},
      {"exp2", [](L x) { return std::exp2(x); }, -152, 130, -1080, 1026, 1, 1},
      {"expm1", [](L x) { return std::expm1(x); }, -20, 90, -40, 712, 2, 2.5},
      {"expm1", [](L x) { return std::expm1(x); }, -1, 1, -1, 1, 2, 2.5},
      {"log", [](L x) { return std::log(x); }, 1e-45, 3e38, 1e-320, 1e308, 1, 1},
      {"log", [](L x) { return std::log(x); }, 0.3, 3, 0.3, 3, 1, 1},
      {"log2", [](L x) { return std::log2(x); }, 0.3, 3, 0.3, 3, 2, 2},
      {"log2", [](L x) { return std::log2(x); }, 1e-45, 3e38, 1e-320, 1e308, 2, 2},
      {"log1p", [](L x) { return std::log1p(x); }, -1, 5, -1, 5, 1, 1},
      {"log1p", [](L x) { return std::log1p(x); }, -1, 1e30, -1, 1e300, 1, 1},
      {"logistic", exact_logistic, -105, 30, -750, 50, 2.5, 2.5},
      {"softplus", exact_softplus, -105, 30, -750, 50, 2, 2},
      {"tanh", [](L x) { return std::tanh(x); }, -11, 11, -25, 25, 1.5, 3},
      {"tanh", [](L x) { return std::tanh(x); }, -1, 1, -1, 1, 1.5, 3},
      {"erf", [](L x) { return std::erf(x); }, -5, 5, -7, 7, 3, 3},
      {"sin", [](L x) { return std::sin(x); }, -10, 10, -10, 10, 0.51, 1.5},
      {"sin", [](L x) { return std::sin(x); }, -3e9, 3e9, -3e9, 3e9, 0.51, 3},
      {"cos", [](L x) { return std::cos(x); }, -10, 10, -10, 10, 0.51, 2},
      {"cos", [](L x) { return std::cos(x); }, -3e9, 3e9, -3e9, 3e9, 0.51, 3},
  };
  for (const Level& level : arithmetics())
    for (const Sweep& s : sweeps) {
      sweep<float>(s, level, s.low32, s.high32, s.bound32);
      sweep<double>(s, level, s.low64, s.high64, s.bound64);
    }
}

TEST_CASE("powers are exact to a unit in the last place") {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> even(-1, 1);
  std::vector<double> a, b;
  std::vector<float> a32, b32;
  for (int i = 0; i < 200000; ++i) {
    a.push_back(std::exp2(even(random) * (i % 4 ? 4 : 1000)));
    b.push_back(even(random) * 740 / std::log(a.back()));
    a32.push_back(float(std::exp2(even(random) * (i % 4 ? 4 : 120))));
    b32.push_back(float(even(random) * 100 / std::log(double(a32.back()))));
  }
  for (const Level& level : arithmetics()) {
    const std::vector<double> y = run("pow", a, b, level);
    const std::vector<float> y32 = run("pow", a32, b32, level);
    double worst = 0, worst32 = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      worst = std::max(worst, ulps<double>(y[i], std::pow(L(a[i]), L(b[i]))));
      worst32 = std::max(worst32, ulps<float>(y32[i], std::pow(L(a32[i]), L(b32[i]))));
    }
    INFO(level.name);
    CHECK(worst <= 1);
    CHECK(worst32 <= 0.51);
  }
}

TEST_CASE("powers of special values are those of C") {
  const double inf = INFINITY;
  const std::vector<double> values = {0,
                                      -0.0,
                                      1,
                                      -1,
                                      2,
                                      -2,
                                      3,
                                      -3,
                                      0.5,
                                      -0.5,
                                      inf,
                                      -inf,
                                      NAN,
                                      1e300,
                                      -1e300,
                                      5e-324,
                                      1.5,
                                      1e308,
                                      9007199254740993.0,
                                      1 + 1e-15};
  for (const Level& level : arithmetics())
    for (double a : values)
      for (double b : values) {
        const double y = run<double>("pow", {a}, {b}, level)[0], expected = std::pow(a, b);
        INFO(level.name << ": " << a << " ^ " << b << " = " << y << ", expected " << expected);
        CHECK(ulps<double>(y, std::pow(L(a), L(b))) <= 1);
        if (!std::isnan(y)) CHECK(std::signbit(y) == std::signbit(expected));
      }
}

TEST_CASE("special values come out as IEEE and C say") {
  for (const Level& level : arithmetics()) {
    special_values<float>(level);
    special_values<double>(level);
  }
}

TEST_CASE("sines of what is too large are NaN, not noise") {
  CHECK(std::isnan(run<float>("sin", {1e10f})[0]));
  CHECK(std::isnan(run<double>("cos", {1e300})[0]));
  CHECK(std::isnan(run<double>("sin", {INFINITY})[0]));
  CHECK(std::signbit(run<float>("sin", {-0.0f})[0]));
}

TEST_CASE("whole powers of two are exact, and so are their logarithms") {
  for (int n = -148; n <= 127; ++n) {
    const float x = std::ldexp(1.0f, n);
    CHECK(run<float>("exp2", {float(n)})[0] == x);
    CHECK(run<float>("log2", {x})[0] == float(n));
  }
  for (int n = -1073; n <= 1023; ++n) {
    const double x = std::ldexp(1.0, n);
    CHECK(run<double>("exp2", {double(n)})[0] == x);
    CHECK(run<double>("log2", {x})[0] == double(n));
  }
}
