// What adds or compares the elements of an axis: reductions, products of matrices.
#include <cmath>

#include "tests/array/random_expressions.h"

namespace neon::test {

namespace {

// What a reduction gives; whether elements are so close that others might win.
struct Reduced {
  double value, error, slope;
  bool unsure = false;
};

// Elements `set` of x, by reduction `which` (sum / 16, mean, max, min, variance, argmax) with unit roundoff u.
Reduced reduced(const Known& x, const std::vector<size_t>& set, int which, double u) {
  const double n = double(set.size());
  double sum = 0, size = 0, error = 0, slope = 0, most = 0;
  for (size_t i : set) {
    sum += x.value[i], size += std::fabs(x.value[i]), error += x.error[i], slope += x.slope[i];
    most = std::fmax(most, x.error[i]);
  }
  const double rounding = (n + 4) * u * size;
  if (which == 0) return {sum / 16, (error + rounding) / 16, slope / 16};
  if (which == 1) return {sum / n, (error + rounding) / n, slope / n};
  if (which == 4) {
    const double mean = sum / n, off = (error + rounding) / n;
    double squares = 0, wrong = 0, by = 0;
    for (size_t i : set) {
      const double d = x.value[i] - mean, e = x.error[i] + off + 2 * u * std::fabs(d);
      squares += d * d, wrong += 2 * std::fabs(d) * e + e * e, by += 2 * d * (x.slope[i] - slope / n);
    }
    return {squares / n, (1.1 * wrong + (n + 4) * u * squares) / n, by / n};
  }
  const double sign = which == 3 ? -1 : 1;
  size_t best = set[0];
  for (size_t i : set)
    if (sign * x.value[i] > sign * x.value[best]) best = i;
  // Equal ones share the slope; where one is only near, the place is not known.
  double ties = 0, shared = 0;
  bool unsure = false;
  size_t place = 0;
  for (size_t k = 0; k < set.size(); ++k) {
    const size_t i = set[k];
    if (i == best) place = k;
    if (x.value[i] == x.value[best]) ++ties, shared += x.slope[i];
    if (i != best && std::fabs(x.value[i] - x.value[best]) <= x.error[i] + x.error[best] && most > 0) unsure = true;
  }
  if (which == 5) return {double(place) * 0.125, unsure ? n : 0, 0, unsure};
  return {x.value[best], most, shared / ties, unsure};
}

}  // namespace

void RandomExpressions::reduce() {
  const Known x = any();
  const int rank = x.shape.rank(), axis = rank && !chance(20) ? below(size_t(rank)) : -1;
  const bool all = axis < 0;
  Shape shape = all ? Shape(std::span<const int64_t>(std::vector<int64_t>(size_t(rank), 1))) : x.shape.with(axis, 1);
  std::vector<std::vector<size_t>> sets(size_t(shape.elements()));
  const auto into = [&] {
    std::vector<int64_t> out;
    each_index(x.shape, [&](Index index) {
      for (int i = 0; i < rank; ++i)
        if (all || i == axis) index[size_t(i)] = 0;
      out.push_back(flat(index, shape));
    });
    return out;
  }();
  for (size_t i = 0; i < into.size(); ++i) sets[size_t(into[i])].push_back(i);
  const Lazy& a = x.lazy;
  const int which = below(all ? 5 : 6);
  const Lazy lazy = which == 0   ? (all ? sum(a) : sum(a, axis)) * (1.0 / 16)
                    : which == 1 ? (all ? mean(a) : mean(a, axis))
                    : which == 2 ? (all ? max(a) : max(a, axis))
                    : which == 3 ? (all ? min(a) : min(a, axis))
                    : which == 4 ? (all ? var(a) : var(a, axis))
                                 : argmax(a, axis) * 0.125;
  Known out{lazy, shape, {}, {}, {}};
  for (const auto& set : sets) {
    const auto [value, error, slope, unsure] = reduced(x, set, which, unit(lazy.dtype()));
    if (unsure && derives_) kinked_ = true;
    out.value.push_back(value), out.error.push_back(error), out.slope.push_back(slope);
  }
  keep(std::move(out));
}

// Arrays of two axes, of one floating type or several.
void RandomExpressions::product() {
  std::vector<const Known*> matrices;
  for (const Known& known : values_)
    if (known.shape.rank() == 2) matrices.push_back(&known);
  if (matrices.empty()) return unary();
  const Known a = *matrices[size_t(below(matrices.size()))], b = *matrices[size_t(below(matrices.size()))];
  for (const auto& [turn_a, turn_b] : {std::pair(0, 0), {0, 1}, {1, 0}, {1, 1}}) {
    const int64_t m = a.shape[turn_a], k = a.shape[1 - turn_a], n = b.shape[1 - turn_b];
    if (k != b.shape[turn_b]) continue;
    const bool rectified = chance(30);
    Lazy lazy = dot(turn_a ? a.lazy.T() : a.lazy, turn_b ? b.lazy.T() : b.lazy);
    const double out = unit(lazy.dtype()), u = unit(lazy.dtype() == DType::f64 ? DType::f64 : DType::f32);
    if (rectified) lazy = relu(lazy);
    Known made{lazy, {m, n}, {}, {}, {}};
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0, size = 0, error = 0, slope = 0;
        for (int64_t l = 0; l < k; ++l) {
          const size_t p = size_t(turn_a ? l * m + i : i * k + l), q = size_t(turn_b ? j * k + l : l * n + j);
          sum += a.value[p] * b.value[q], size += std::fabs(a.value[p] * b.value[q]);
          error += std::fabs(a.value[p]) * b.error[q] + std::fabs(b.value[q]) * a.error[p] + a.error[p] * b.error[q];
          slope += a.value[p] * b.slope[q] + b.value[q] * a.slope[p];
        }
        error += double(k + 4) * u * size;
        if (rectified && std::fabs(sum) <= error && slope != 0) kinked_ = true;
        made.value.push_back(rectified ? std::fmax(sum, 0) : sum);
        made.slope.push_back(rectified && sum <= 0 ? 0 : slope);
        made.error.push_back(error + 2 * out * std::fabs(sum) + (out > 1e-6 ? 1e-7 : 0));
      }
    return keep(std::move(made));
  }
}

}  // namespace neon::test
