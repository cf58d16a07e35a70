// Functions of an element or two.
#include <cmath>

#include "tests/array/random_expressions.h"

namespace neon::test {

Known RandomExpressions::elementwise(const Known& a, const Known& b, Lazy lazy,
                                     const std::function<Outcome(double, double, double)>& f) {
  Known out{lazy, lazy.shape(), {}, {}, {}};
  const auto in_a = places(a.shape, out.shape), in_b = places(b.shape, out.shape);
  for (size_t i = 0; i < in_a.size(); ++i) {
    const size_t p = size_t(in_a[i]), q = size_t(in_b[i]);
    const double near = a.error[p] + b.error[q];
    const Outcome y = f(a.value[p], b.value[q], near);
    out.value.push_back(y.value);
    out.error.push_back(1.5 * (std::fabs(y.by_a) * a.error[p] + std::fabs(y.by_b) * b.error[q] + near * near) + y.jump +
                        8 * unit(lazy.dtype()) * (std::fabs(y.value) + 1e-3));
    out.slope.push_back(y.by_a * a.slope[p] + y.by_b * b.slope[q]);
    if (y.jump != 0 && (a.slope[p] != 0 || b.slope[q] != 0)) kinked_ = true;
  }
  return out;
}

namespace {

// A function of one operand, and its outcome at p, which may be off by `near`.
struct Unary {
  Lazy (*lazy)(const Lazy& a);
  Outcome (*at)(double p, double near);
};

const Unary kUnary[] = {
    {[](const Lazy& a) -> Lazy { return -a; },
     [](double p, double) {
       return Outcome{-p, -1};
     }},
    {[](const Lazy& a) -> Lazy { return tanh(a); },
     [](double p, double) {
       const double y = std::tanh(p);
       return Outcome{y, 1 - y * y};
     }},
    {[](const Lazy& a) -> Lazy { return sig(a); },
     [](double p, double) {
       const double y = 1 / (1 + std::exp(-p));
       return Outcome{y, y * (1 - y)};
     }},
    {[](const Lazy& a) -> Lazy { return relu(a); },
     [](double p, double near) {
       return Outcome{std::fmax(p, 0), double(p > 0), 0, std::fabs(p) <= near ? near : 0};
     }},
    {[](const Lazy& a) -> Lazy { return square(a); },
     [](double p, double) {
       return Outcome{p * p, 2 * p};
     }},
    {[](const Lazy& a) -> Lazy { return sqrt(square(a) + 1); },
     [](double p, double) {
       const double y = std::sqrt(p * p + 1);
       return Outcome{y, p / y};
     }},
    {[](const Lazy& a) -> Lazy { return abs(a); },
     [](double p, double near) {
       return Outcome{std::fabs(p), p > 0 ? 1.0 : p < 0 ? -1.0 : 0, 0, std::fabs(p) <= near ? near : 0};
     }},
    {[](const Lazy& a) -> Lazy { return exp(-abs(a)); },
     [](double p, double near) {
       const double y = std::exp(-std::fabs(p));
       return Outcome{y, p > 0 ? -y : y, 0, std::fabs(p) <= near ? near : 0};
     }},
    {[](const Lazy& a) -> Lazy { return log(square(a) + 1.5); },
     [](double p, double) {
       return Outcome{std::log(p * p + 1.5), 2 * p / (p * p + 1.5)};
     }},
    {[](const Lazy& a) -> Lazy { return clip(a, -0.75, 1.25); },
     [](double p, double near) {
       const bool inside = p > -0.75 && p < 1.25;
       const bool at_edge = std::fabs(p + 0.75) <= near || std::fabs(p - 1.25) <= near;
       return Outcome{std::fmin(std::fmax(p, -0.75), 1.25), double(inside), 0, at_edge ? near + 1e-30 : 0};
     }},
    {[](const Lazy& a) -> Lazy { return rint(a); },
     [](double p, double near) {
       const bool turns = std::fabs(std::fabs(p - std::trunc(p)) - 0.5) <= near;
       return Outcome{std::rint(p), 0, 0, turns ? near > 0 : 0.0};
     }},
    {[](const Lazy& a) -> Lazy { return a * 0.25 - 0.5; },
     [](double p, double) {
       return Outcome{p * 0.25 - 0.5, 0.25};
     }},
    {[](const Lazy& a) -> Lazy { return reciprocal(2 + square(a)); },
     [](double p, double) {
       const double y = 1 / (2 + p * p);
       return Outcome{y, -2 * p * y * y};
     }},
    {[](const Lazy& a) -> Lazy { return apply("sin", a); },
     [](double p, double) {
       return Outcome{std::sin(p), std::cos(p)};
     }},
};

}  // namespace

void RandomExpressions::unary() {
  const Known x = any();
  const Unary& f = kUnary[size_t(below(std::size(kUnary)))];
  keep(elementwise(x, x, f.lazy(x.lazy), [&](double a, double, double near) { return f.at(a, near / 2); }));
}

void RandomExpressions::binary() {
  const Known x = any(), y = any();
  if (!fits(x.shape, y.shape) && !fits(y.shape, x.shape)) return unary();
  const auto add = [&](const Lazy& lazy, const std::function<Outcome(double, double, double)>& f) {
    keep(elementwise(x, y, lazy, f));
  };
  const Lazy &a = x.lazy, &b = y.lazy;
  const auto jump = [](double p, double q, double near) { return std::fabs(p - q) <= near && near > 0 ? 1.0 : 0.0; };
  switch (below(9)) {
    case 0:
    case 1: return add(a + b, [](double p, double q, double) { return Outcome{p + q, 1, 1}; });
    case 2: return add(a - b, [](double p, double q, double) { return Outcome{p - q, 1, -1}; });
    case 3:
    case 4: return add(a * b, [](double p, double q, double) { return Outcome{p * q, q, p}; });
    case 5:
      return add(a / (square(b) + 0.5), [](double p, double q, double) {
        const double d = q * q + 0.5;
        return Outcome{p / d, 1 / d, -2 * p * q / (d * d)};
      });
    case 6:
      return add(maximum(a, b), [](double p, double q, double near) {
        const double close = std::fabs(p - q) <= near;
        return Outcome{std::fmax(p, q), double(p > q), double(q > p), close ? near + 1e-30 : 0};
      });
    case 7:
      return add(a < b, [&](double p, double q, double near) {
        return Outcome{double(p < q), 0, 0, jump(p, q, near)};
      });
    default:
      return add(a == b, [&](double p, double q, double near) {
        return Outcome{double(p == q), 0, 0, jump(p, q, near)};
      });
  }
}

// where(a > 0, a, b)
void RandomExpressions::select() {
  const Known x = any(), y = any();
  if (!fits(x.shape, y.shape) && !fits(y.shape, x.shape)) return reduce();
  keep(elementwise(x, y, where(x.lazy > 0, x.lazy, y.lazy * 0.5), [](double p, double q, double near) {
    const double unsure = std::fabs(p) <= near ? std::fabs(p - q * 0.5) + near : 0;
    return p > 0 ? Outcome{p, 1, 0, unsure} : Outcome{q * 0.5, 0, 0.5, unsure};
  }));
}

}  // namespace neon::test
