// Metrics that neon 0.9 had beside shares and means: sums over a set, the area under the curve, statistics by label.
#include <algorithm>
#include <cmath>
#include <optional>

#include "neon/core/counted.h"
#include "transforms/metric.h"
#include "transforms/parts.h"

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
  std::optional<int64_t> pos_label;
  std::string average = "none";
  static void describe(auto&& p) {
    p("pos_label", &AUCParams::pos_label,
      "Class that is to be found among the others, counted from 0. Default: 1, where there are two classes. A single "
      "output is its score, whatever the number.",
      at_least(0));
    p("average", &AUCParams::average,
      "macro: the mean over all classes, each against all others, in place of a pos_label (one-vs-rest; scikit-learn's "
      "multi_class='ovr', average='macro'). Classes of no sample, or of all, do not count.",
      one_of({"none", "macro"}));
  }
};

// The share of pairs of a positive and a negative sample in which the positive one scores higher; equal scores count
// half. Samples are pairs (score, whether positive). It is the rank sum of Mann and Whitney, equal scores sharing their
// mean rank.
double share_of_pairs(std::vector<std::pair<double, bool>> samples) {
  if (std::ranges::any_of(samples, [](const auto& sample) { return std::isnan(sample.first); })) return std::nan("");
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
  if (positives == 0 || negatives == 0) return std::nan("");
  return (ranks - positives * (positives + 1) / 2) / (positives * negatives);
}

struct AUC : Parametrized<Metric, AUCParams> {
  explicit AUC(AUCParams given) : Parametrized(std::move(given)) {
    if (is_mean() && params.pos_label)
      fail(ErrorKind::config,
           "average: macro takes each class in turn, and pos_label names one; leave one of both out");
  }
  std::vector<Result> results() const override {
    return {{is_mean() ? std::string("AUC_MACRO") : text("AUC_POS_", positive()), true, Better::higher}};
  }
  bool keeps_samples() const override { return true; }
  bool of_two_kinds() const override { return true; }
  std::vector<Expr> partial(Expr y, Expr t, Expr weight) const override {
    const int64_t outputs = y.shape()[1];
    if (outputs == 1 || is_mean()) return {y, t, weight};
    const auto column = [&](Expr x) { return part(x, 1, std::min(positive(), outputs - 1)); };
    return {column(y), column(t), weight};
  }
  // The mean over those of the K columns of scores and targets (n, K) that have samples of both kinds. The larger of
  // two numbers is the positive: a table may have standardised them.
  std::vector<double> finish(const std::vector<std::vector<double>>& s, double) const override {
    const size_t rows = s[2].size(), columns = rows == 0 ? 0 : s[0].size() / rows;
    double sum = 0, count = 0;
    for (size_t k = 0; k < columns; ++k) {
      std::vector<std::pair<double, bool>> samples;
      double least = INFINITY, most = -INFINITY;
      for (size_t row = 0; row < rows; ++row) {
        if (s[2][row] == 0) continue;
        least = std::min(least, s[1][row * columns + k]);
        most = std::max(most, s[1][row * columns + k]);
      }
      size_t positives = 0;
      for (size_t row = 0; row < rows; ++row) {
        if (s[2][row] == 0) continue;
        const double kind = s[1][row * columns + k];
        if (kind != least && kind != most) return {std::nan("")};
        samples.emplace_back(s[0][row * columns + k], kind != least);
        positives += samples.back().second;
      }
      if (positives == 0 || positives == samples.size()) continue;
      sum += share_of_pairs(std::move(samples)), ++count;
    }
    return {count > 0 ? sum / count : std::nan("")};
  }
  std::string objection(int64_t outputs, int64_t classes) const override {
    if (outputs == 1) return "";
    if (!is_mean() && positive() >= outputs)
      return text("pos_label is ", positive(), ", but there are only ", outputs, " outputs, counted from 0");
    if (!is_mean() && !params.pos_label && outputs > 2)
      return text("there are ", outputs, " outputs; write AUC: {average: macro} for the mean over all classes, each ",
                  "against the others, or name one class by pos_label: 0 to ", outputs - 1);
    return Metric::objection(outputs, classes);
  }
  // Each of several labels is a question of its own, with positive and negative samples.
  std::string objection(const std::vector<OutputForm>& outputs, int64_t classes) const override {
    const OutputForm& form = outputs[0];
    if (form.kind != TargetKind::labels) return objection(form.width, classes);
    if (form.width > 1 && !is_mean() && !params.pos_label)
      return text("the outputs are labels; write AUC: {average: macro} for the mean over them, or name one by ",
                  "pos_label: 0 to ", form.width - 1);
    return is_mean() || form.width == 1 ? "" : objection(form.width, form.width);
  }

 private:
  bool is_mean() const { return params.average == "macro"; }
  int64_t positive() const { return params.pos_label.value_or(1); }
};
NEON_REGISTER(Metric, AUC,
              "Area under the receiver operating characteristic: the share of pairs of a positive and another sample "
              "in which the positive one scores higher. Not a number where all samples are of one kind. Three "
              "classes or more need AUC: {average: macro}, or one of them by pos_label.");

struct MultiLabelStatsParams {
  std::vector<std::string> labels;
  double threshold = 0.5;
  static void describe(auto&& p) {
    p("labels", &MultiLabelStatsParams::labels,
      "Name of each output, in order. []: the labels of the data set, where it names those of the output.");
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
    if (params.labels.empty())
      return text("labels is to name the ", outputs, " outputs, in order; the data set names none");
    return text("names ", counted(int64_t(params.labels.size()), "label"), ", and the net has ",
                counted(outputs, "output"));
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
