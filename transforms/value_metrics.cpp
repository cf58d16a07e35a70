// Metrics of numbers rather than classes.
#include <algorithm>
#include <cmath>

#include "transforms/metric.h"

namespace neon {

namespace {

// The sum of all numbers of a batch's samples; the weights are those of the samples.
Expr total_of(Expr each, Expr weight) { return sum(each * weight, all_axes(each.shape())); }

struct MAE : Parametrized<Metric, NoParams> {
  using Parametrized::Parametrized;
  std::vector<Result> results() const override { return {{"MAE", false, Better::lower}}; }
  std::vector<Expr> partial(Expr y, Expr t, Expr weight) const override {
    return {total_of(apply("abs", y - t), weight) * (1.0 / double(y.shape()[1]))};
  }
  std::vector<double> finish(const std::vector<std::vector<double>>& s, double n) const override {
    return {s[0][0] / n};
  }
  bool in_own_units(int) const override { return true; }
  std::string objection(int64_t, int64_t) const override { return ""; }
};
NEON_REGISTER(Metric, MAE,
              "Mean of absolute differences, in the targets' own units where a data set has standardised them.",
              {"MeanAbsoluteError"});

constexpr int kRulesOfOwnSquares = 9;  // of data, the first by which squares are in the targets' units

// The sum over a batch of the samples' means.
Expr mean_square(Expr y, Expr t, Expr weight) { return total_of(square(y - t), weight) * (1.0 / double(y.shape()[1])); }

struct SSE : Parametrized<Metric, NoParams> {
  using Parametrized::Parametrized;
  std::vector<Result> results() const override { return {{"SSE", false, Better::lower}}; }
  std::vector<Expr> partial(Expr y, Expr t, Expr weight) const override { return {total_of(square(y - t), weight)}; }
  std::vector<double> finish(const std::vector<std::vector<double>>& s, double) const override { return {s[0][0]}; }
  bool in_own_units(int rules) const override { return rules >= kRulesOfOwnSquares; }
  std::string objection(int64_t, int64_t) const override { return ""; }
};
NEON_REGISTER(Metric, SSE,
              "Sum of squared differences over all samples, in the targets' own units, squared, where a data set has "
              "standardised them.");

struct MSE : Parametrized<Metric, NoParams> {
  using Parametrized::Parametrized;
  std::vector<Result> results() const override { return {{"MSE", false, Better::lower}}; }
  std::vector<Expr> partial(Expr y, Expr t, Expr weight) const override { return {mean_square(y, t, weight)}; }
  std::vector<double> finish(const std::vector<std::vector<double>>& s, double n) const override {
    return {s[0][0] / n};
  }
  bool in_own_units(int rules) const override { return rules >= kRulesOfOwnSquares; }
  std::string objection(int64_t, int64_t) const override { return ""; }
};
NEON_REGISTER(Metric, MSE,
              "Mean of squared differences, in the targets' own units, squared, where a data set has standardised "
              "them.");

struct RMSE : Parametrized<Metric, NoParams> {
  using Parametrized::Parametrized;
  std::vector<Result> results() const override { return {{"RMSE", false, Better::lower}}; }
  std::vector<Expr> partial(Expr y, Expr t, Expr weight) const override { return {mean_square(y, t, weight)}; }
  std::vector<double> finish(const std::vector<std::vector<double>>& s, double n) const override {
    return {std::sqrt(s[0][0] / n)};
  }
  bool in_own_units(int) const override { return true; }
  std::string objection(int64_t, int64_t) const override { return ""; }
};
NEON_REGISTER(Metric, RMSE,
              "Root of the mean of squared differences, in the targets' own units where a data set has standardised "
              "them.",
              {"RootMeanSquaredError"});

struct R2 : Parametrized<Metric, NoParams> {
  using Parametrized::Parametrized;
  std::vector<Result> results() const override { return {{"R2", false, Better::higher}}; }
  std::vector<Expr> partial(Expr y, Expr t, Expr weight) const override {
    // In f64, as the squares of targets far from 0 hide their spread.
    const Expr exact = cast(t, DType::f64), weights = cast(weight, DType::f64);
    return {sum(square(y - t) * weight, {0}), sum(exact * weights, {0}), sum(square(exact) * weights, {0}),
            sum(weights, {0})};
  }
  // The mean over the outputs. An output whose targets are all alike has 1 without an error and 0 otherwise.
  std::vector<double> finish(const std::vector<std::vector<double>>& s, double n) const override {
    const double rounding = 4e-16 * std::sqrt(n);  // of the sums over all batches
    double all = 0;
    for (size_t k = 0; k < s[0].size(); ++k) {
      const double spread = s[2][k] - s[1][k] * s[1][k] / s[3][0];
      all += spread > rounding * s[2][k] ? 1 - s[0][k] / spread : s[0][k] == 0 ? 1 : 0;
    }
    return {all / double(s[0].size())};
  }
  std::string objection(int64_t, int64_t) const override { return ""; }
};
NEON_REGISTER(
    Metric, R2,
    "Share of the targets' variance that the net explains: 1 is perfect, 0 as good as the mean, below 0 worse; "
    "the mean over the outputs.",
    {"CoefficientOfDetermination"});

}  // namespace

}  // namespace neon
