#include "neon/train/class_counts.h"

#include <cmath>

#include "transforms/parts.h"

namespace neon {

namespace {

// The most rows that are counted in one f32 sum: it holds all whole numbers up to 2^24.
constexpr int64_t kMostRows = int64_t(1) << 24;

}  // namespace

std::vector<Expr> ClassCounts::partial(Expr y, Expr t, Expr weight) const {
  const int64_t rows = y.shape()[0], classes = y.shape()[1];
  const Expr numbers = cast(Expr(y.graph(), iota(y.graph(), {1, classes}, 1)), y.dtype());
  const Expr counts = 1.0 - apply("equal", weight, weight.constant(0));
  const Expr predicted = apply("equal", numbers, cast(reduce("argmax", y, {1}), y.dtype())) * counts;
  std::vector<Expr> out;
  for (int64_t first = 0; first < rows; first += kMostRows) {
    const int64_t count = std::min(kMostRows, rows - first);
    out.push_back({y.graph(), matmul(y.graph(), part(t, 0, first, count), part(predicted, 0, first, count), true)});
  }
  return out;
}

std::vector<std::vector<int64_t>> confusion_of(const std::vector<std::vector<double>>& sums) {
  const size_t classes = sums.empty() ? 0 : size_t(std::lround(std::sqrt(double(sums[0].size()))));
  std::vector<std::vector<int64_t>> out(classes, std::vector<int64_t>(classes, 0));
  for (const std::vector<double>& some : sums)
    for (size_t k = 0; k < some.size(); ++k) out[k / classes][k % classes] += std::llround(some[k]);
  return out;
}

}  // namespace neon
