// Metrics that neon 0.9 had beside shares and means: sums over a set, the area under the curve, statistics by label.
#include <algorithm>
#include <cmath>

#include "transforms/metric.h"

namespace neon {

namespace {

Expr whole_sum(Expr per_sample) { return sum(per_sample, all_axes(per_sample.shape())); }

struct MisclassSumParams {
  int64_t k = 1;
  static void describe(auto&& p) {
    p("k", &MisclassSumParams::k, "Number of guesses for a sample.", at_least(1), Alias{"error_rank"});
  }
};
// Equal scores rank by class index, the lower first, as in the other metrics.
struct MisclassSum : Parametrized<Metric, MisclassSumParams> {
  using Parametrized::Parametrized;
  std::vector<Result> results() const override { return {{text("MisclassSum_TOP_", params.k), false, Better::lower}}; }
  std::vector<Expr> partial(Expr y, Expr t, Expr weight) const override {
    const Expr index = cast(Expr(y.graph(), iota(y.graph(), {1, y.shape()[1]}, 1)), y.dtype());
    const Expr score = sum(y * t, {1}), label = reduce("argmax", t, {1});
    const Expr behind = apply("less", y, score) + apply("equal", y, score) * (1.0 - apply("less", index, label));
    const Expr rank = sum(1.0 - behind, {1});
    return {whole_sum((1.0 - apply("less", rank, y.constant(double(params.k)))) * weight)};
  }
  std::vector<double> finish(const std::vector<std::vector<double>>& s, double) const override { return {s[0][0]}; }
  std::string objection(int64_t outputs, int64_t classes) const override {
    if (params.k > outputs) return text("k is ", params.k, ", but there are only ", outputs, " outputs");
    return Metric::objection(outputs, classes);
  }
};
NEON_REGISTER(Metric, MisclassSum, "Number of samples whose true class is not among the first k outputs.");

struct ClippedLossParams {
  double eps = 1e-15;
  static void describe(auto&& p) {
    p("eps", &ClippedLossParams::eps, "Outputs are kept within [eps, 1 - eps], then divided by their sum.",
      half_open(0, 0.5));
  }
};
Expr clipped_loss(Expr y, Expr t, double eps) {
  const Expr kept = maximum(minimum(y, 1 - eps), eps);
  return -sum(t * apply("safelog", kept / sum(kept, {1})), {1});
}

struct LogLossSum : Parametrized<Metric, ClippedLossParams> {
  using Parametrized::Parametrized;
  std::vector<Result> results() const override { return {{"LogLossSum", false, Better::lower}}; }
  std::vector<Expr> partial(Expr y, Expr t, Expr weight) const override {
    return {whole_sum(clipped_loss(y, t, params.eps) * weight)};
  }
  std::vector<double> finish(const std::vector<std::vector<double>>& s, double) const override { return {s[0][0]}; }
};
NEON_REGISTER(Metric, LogLossSum, "Sum of -log of the true class's share of the outputs, over all samples.");

struct LogLossMean : Parametrized<Metric, ClippedLossParams> {
  using Parametrized::Parametrized;
  std::vector<Result> results() const override { return {{"LogLossMean", false, Better::lower}}; }
  std::vector<Expr> partial(Expr y, Expr t, Expr weight) const override {
    return {whole_sum(clipped_loss(y, t, params.eps) * weight)};
  }
  std::vector<double> finish(const std::vector<std::vector<double>>& s, double n) const override {
    return {s[0][0] / n};
  }
};
NEON_REGISTER(Metric, LogLossMean,
              "Mean of -log of the true class's share of the outputs. LogLoss takes the output as it is.");

struct AUCParams {
  int64_t pos_label = 1;
  static void describe(auto&& p) {
    p("pos_label", &AUCParams::pos_label,
      "Class that is to be found among the others, counted from 0. A single output is its score, whatever the number.",
      at_least(0));
  }
};
// The share of pairs of a positive and a negative sample in which the positive one scores higher; equal scores count
// half: the rank sum of Mann and Whitney, equal scores sharing their mean rank.
struct AUC : Parametrized<Metric, AUCParams> {
  using Parametrized::Parametrized;
  std::vector<Result> results() const override { return {{text("AUC_POS_", params.pos_label), true, Better::higher}}; }
  bool keeps_samples() const override { return true; }
  std::vector<Expr> partial(Expr y, Expr t, Expr weight) const override {
    const int64_t outputs = y.shape()[1];
    const auto column = [&](Expr x) -> Expr {
      if (outputs == 1) return x;
      const int64_t first = std::min(params.pos_label, outputs - 1);
      return {x.graph(), x.graph().add("slice", {x}, {{"axis", int64_t(1)}, {"first", first}, {"count", int64_t(1)}})};
    };
    return {column(y), column(t), weight};
  }
  std::vector<double> finish(const std::vector<std::vector<double>>& s, double) const override;
  std::string objection(int64_t outputs, int64_t classes) const override {
    if (outputs == 1) return "";
    if (params.pos_label >= outputs)
      return text("pos_label is ", params.pos_label, ", but there are only ", outputs, " outputs, counted from 0");
    return Metric::objection(outputs, classes);
  }
};

std::vector<double> AUC::finish(const std::vector<std::vector<double>>& s, double) const {
  std::vector<std::pair<double, bool>> samples;  // score, whether positive
  for (size_t i = 0; i < s[0].size(); ++i)
    if (s[2][i] > 0) samples.emplace_back(s[0][i], s[1][i] > 0.5);
  if (std::ranges::any_of(samples, [](const auto& sample) { return std::isnan(sample.first); })) return {std::nan("")};
  std::ranges::sort(samples);
  double positives = 0, ranks = 0;
  for (size_t i = 0; i < samples.size();) {
    size_t end = i;
    double here = 0;
    for (; end < samples.size() && samples[end].first == samples[i].first; ++end) here += samples[end].second;
    ranks += here * (double(i + 1) + double(end)) / 2;
    positives += here;
    i = end;
  }
  const double negatives = double(samples.size()) - positives;
  if (positives == 0 || negatives == 0) return {std::nan("")};
  return {(ranks - positives * (positives + 1) / 2) / (positives * negatives)};
}
NEON_REGISTER(Metric, AUC,
              "Area under the receiver operating characteristic: the share of pairs of a positive and another sample "
              "in which the positive one scores higher. Not a number where all samples are of one kind.");

struct MultiLabelStatsParams {
  std::vector<std::string> labels;
  double threshold = 0.5;
  static void describe(auto&& p) {
    p("labels", &MultiLabelStatsParams::labels, "Name of each output, in order.", Required{});
    p("threshold", &MultiLabelStatsParams::threshold, "Outputs of at least this predict their label.");
  }
};
// Every output is a question of its own, as where a picture may have several labels. A quotient of 0 by 0 is 0.
struct MultiLabelStats : Parametrized<Metric, MultiLabelStatsParams> {
  using Parametrized::Parametrized;
  std::vector<Result> results() const override {
    std::vector<Result> out;
    for (const std::string& label : params.labels) {
      out.push_back({text("Precision_", label), true, Better::higher});
      out.push_back({text("Recall_", label), true, Better::higher});
    }
    return out;
  }
  std::vector<Expr> partial(Expr y, Expr t, Expr weight) const override {
    const Expr predicted = apply("greater_equal", y, y.constant(params.threshold)) * weight;
    const Expr truth = apply("greater_equal", t, t.constant(0.5));
    return {sum(predicted * truth, {0}), sum(predicted, {0}), sum(truth * weight, {0})};
  }
  std::vector<double> finish(const std::vector<std::vector<double>>& s, double) const override {
    std::vector<double> out;
    for (size_t k = 0; k < s[0].size(); ++k) {
      out.push_back(s[1][k] > 0 ? s[0][k] / s[1][k] : 0);
      out.push_back(s[2][k] > 0 ? s[0][k] / s[2][k] : 0);
    }
    return out;
  }
  std::string objection(int64_t outputs, int64_t) const override {
    if (int64_t(params.labels.size()) == outputs) return "";
    return text("names ", params.labels.size(), " labels, but there are ", outputs, " outputs");
  }
  std::string objection(const std::vector<OutputForm>& outputs, int64_t classes) const override {
    const OutputForm& form = outputs[0];
    const std::string line = objection(form.width, classes);
    if (!line.empty() || form.names.empty() || form.names == params.labels) return line;
    return text("names the labels ", join(params.labels, ", "), ", and the outputs are ", join(form.names, ", "));
  }
};
NEON_REGISTER(Metric, MultiLabelStats,
              "Precision and recall of each output by itself, for samples that have several labels or none.");

}  // namespace

}  // namespace neon
