// SparseEigen: a few connections for each unit, and a chosen spectral radius (Sutskever et al. 2013).
#include <algorithm>
#include <cmath>
#include <numeric>

#include "layers/initializer.h"
#include "neon/core/threads.h"

namespace neon {

namespace {

constexpr double kSparseDeviation = 0.3;

// a · a of n rows and columns.
std::vector<double> squared(const std::vector<double>& a, int64_t n) {
  std::vector<double> out(a.size(), 0.0);
#pragma omp parallel for num_threads(available_threads()) schedule(static) if (n > 64)
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = 0; k < n; ++k) {
      const double factor = a[size_t(i * n + k)];
      if (factor == 0) continue;
      for (int64_t j = 0; j < n; ++j) out[size_t(i * n + j)] += factor * a[size_t(k * n + j)];
    }
  return out;
}

// The largest absolute eigenvalue, by Gelfand's formula: the norm of a^(2^k), to the power of 1 / 2^k. Each square is
// scaled to norm 1, so that no power over- or underflows. 0 where a power is 0.
double spectral_radius(std::vector<double> a, int64_t n) {
  constexpr int kSquares = 24;
  double log_radius = 0;
  for (int k = 0; k <= kSquares; ++k) {
    const double norm = std::sqrt(std::inner_product(a.begin(), a.end(), a.begin(), 0.0));
    if (norm == 0) return 0;
    log_radius += std::log(norm) / std::pow(2.0, k);
    for (double& x : a) x /= norm;
    if (k < kSquares) a = squared(a, n);
  }
  return std::exp(log_radius);
}

struct SparseEigenParams {
  int64_t sparseness = 15;
  double eigenvalue = 1.2;
  static void describe(auto&& p) {
    p("sparseness", &SparseEigenParams::sparseness, "Inputs that each unit is connected with; all, if there are fewer.",
      at_least(1));
    p("eigenvalue", &SparseEigenParams::eigenvalue, "Largest absolute eigenvalue of a square matrix.", above(0));
  }
};
struct SparseEigen : Parametrized<Initializer, SparseEigenParams> {
  using Parametrized::Parametrized;
  bool of_matrix() const override { return true; }
  void check(const Shape& shape) const override {
    if (shape.rank() != 2 && shape.rank() != 4 && shape.rank() != 5)
      neon::fail(ErrorKind::config, "initializer SparseEigen fills matrices and filters, not ", shape);
  }
  void fill(Tensor& t, const Fan&, Stream& s) const override {
    check(t.shape());
    const int64_t first = t.shape()[0], others = t.elements() / std::max<int64_t>(first, 1);
    const bool filters = t.shape().rank() > 2;
    const int64_t rows = filters ? others : first, columns = filters ? first : others,
                  count = std::min(params.sparseness, columns);
    std::vector<double> out(size_t(rows * columns), 0.0);
    std::vector<int64_t> order(static_cast<size_t>(columns));
    for (int64_t r = 0; r < rows; ++r) {
      std::iota(order.begin(), order.end(), 0);
      for (int64_t i = 0; i < count; ++i) {  // the first `count` places of a shuffle: different inputs
        std::swap(order[size_t(i)], order[size_t(i + s.below(uint32_t(columns - i)))]);
        out[size_t(r * columns + order[size_t(i)])] = kSparseDeviation * s.normal();
      }
    }
    if (rows == columns)
      if (const double radius = spectral_radius(out, rows); radius > 0)
        for (double& x : out) x *= params.eigenvalue / radius;
    const int64_t channels = filters ? t.shape().back() : 1, places = filters ? others / channels : 1;
    for (int64_t i = 0; i < t.elements(); ++i) {  // filters (K,R,S,C) are those of a matrix (C R S, K)
      const int64_t row = i % channels * places + i / channels % places;
      t.set(i, out[size_t(filters ? row * columns + i / others : i)]);
    }
  }
};
NEON_REGISTER(Initializer, SparseEigen,
              "Normal with deviation 0.3 at `sparseness` inputs of each unit, 0 elsewhere; a square matrix is then "
              "scaled to the eigenvalue (Sutskever et al. 2013). Filters (K,R,S,C) are a matrix (C R S, K), as in neon "
              "0.9: each of its rows reaches `sparseness` maps.");

}  // namespace

}  // namespace neon
