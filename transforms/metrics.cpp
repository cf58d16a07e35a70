#include "transforms/log_loss.h"
#include "transforms/metric.h"

namespace neon {

namespace {

Expr total(Expr per_sample) { return sum(per_sample, all_axes(per_sample.shape())); }

// All metrics rank equal scores by class index, the lower first, as predict does.

// 0, 1 ... for the columns of y: (1,K)
Expr columns(Expr y) { return cast(Expr(y.graph(), iota(y.graph(), {1, y.shape()[1]}, 1)), y.dtype()); }

// How many classes stand before the true one, (N,1): those that do not score lower, and of equal ones those of a lower
// index. A score that is not a number is never lower.
Expr rank(Expr y, Expr t) {
  Expr score = sum(y * t, {1}), label = reduce("argmax", t, {1});
  Expr behind = apply("less", y, score) + apply("equal", y, score) * (1.0 - apply("less", columns(y), label));
  return sum(1.0 - behind, {1});
}

// The true class is among the first k; (N,1)
Expr within(Expr y, Expr t, int64_t k) { return apply("less", rank(y, t), y.constant(double(k))); }

// The class of the highest score is the true one; (N,1)
Expr correct(Expr y, Expr t) { return apply("equal", reduce("argmax", y, {1}), reduce("argmax", t, {1})); }

struct Misclassification : Parametrized<Metric, NoParams> {
  using Parametrized::Parametrized;
  std::vector<Result> results() const override { return {{"Top1Misclass", true, Better::lower}}; }
  std::vector<Expr> partial(Expr y, Expr t, Expr weight) const override {
    return {total((1.0 - correct(y, t)) * weight)};
  }
  std::vector<double> finish(const std::vector<std::vector<double>>& s, double n) const override {
    return {s[0][0] / n};
  }
};
NEON_REGISTER(Metric, Misclassification,
              "Share of samples, or of their pixels, whose highest output is not the true class; of equal outputs the "
              "first counts.",
              {"MisclassPercentage", "MisclassRate"});

struct Accuracy : Parametrized<Metric, NoParams> {
  using Parametrized::Parametrized;
  std::vector<Result> results() const override { return {{"Accuracy", true, Better::higher}}; }
  std::vector<Expr> partial(Expr y, Expr t, Expr weight) const override { return {total(correct(y, t) * weight)}; }
  std::vector<double> finish(const std::vector<std::vector<double>>& s, double n) const override {
    return {s[0][0] / n};
  }
};
NEON_REGISTER(
    Metric, Accuracy,
    "Share of samples, or of their pixels, whose highest output is the true class; of equal outputs the first counts.");

struct LogLoss : Parametrized<Metric, NoParams> {
  using Parametrized::Parametrized;
  std::vector<Result> results() const override { return {{"LogLoss", false, Better::lower}}; }
  std::vector<Expr> partial(Expr y, Expr t, Expr weight) const override { return {total(log_loss(y, t) * weight)}; }
  std::vector<double> finish(const std::vector<std::vector<double>>& s, double n) const override {
    return {s[0][0] / n};
  }
};
NEON_REGISTER(Metric, LogLoss, "Mean of -log of the true class's output.");

struct TopKParams {
  int64_t k = 5;
  static void describe(auto&& p) { p("k", &TopKParams::k, "Number of guesses for a sample.", at_least(1)); }
};
struct TopKMisclassification : Parametrized<Metric, TopKParams> {
  using Parametrized::Parametrized;
  std::vector<Result> results() const override {
    return {{"LogLoss", false, Better::lower},
            {"Top1Misclass", true, Better::lower},
            {text("Top", params.k, "Misclass"), true, Better::lower}};
  }
  std::vector<Expr> partial(Expr y, Expr t, Expr weight) const override {
    return {total(log_loss(y, t) * weight), total((1.0 - within(y, t, 1)) * weight),
            total((1.0 - within(y, t, params.k)) * weight)};
  }
  std::vector<double> finish(const std::vector<std::vector<double>>& s, double n) const override {
    return {s[0][0] / n, s[1][0] / n, s[2][0] / n};
  }
  std::string objection(int64_t outputs, int64_t classes) const override {
    if (params.k > outputs) return text("k is ", params.k, ", but there are only ", outputs, " outputs");
    return Metric::objection(outputs, classes);
  }
};
NEON_REGISTER(
    Metric, TopKMisclassification,
    "LogLoss, and the shares of samples whose true class is not first, not among the first k; equal outputs rank "
    "by class index, the lower first (neon 1.x counted them in fractions).",
    {"TopK"});

// 1 at the highest output of each row, 0 elsewhere; (N,K)
Expr chosen(Expr y) { return apply("equal", columns(y), reduce("argmax", y, {1})); }

struct MeanIoU : Parametrized<Metric, NoParams> {
  using Parametrized::Parametrized;
  std::vector<Result> results() const override { return {{"MeanIoU", true, Better::higher}}; }
  std::vector<Expr> partial(Expr y, Expr t, Expr weight) const override {
    const Expr predicted = chosen(y) * weight;
    return {sum(predicted * t, {0}), sum(predicted, {0}), sum(t * weight, {0})};
  }
  std::vector<double> finish(const std::vector<std::vector<double>>& s, double) const override {
    double total = 0, classes = 0;
    for (size_t c = 0; c < s[0].size(); ++c)
      if (const double either = s[1][c] + s[2][c] - s[0][c]; either > 0) total += s[0][c] / either, ++classes;
    return {classes > 0 ? total / classes : 0};
  }
};
NEON_REGISTER(Metric, MeanIoU,
              "Mean over the classes of intersection over union: the pixels, or samples, of a class that are predicted "
              "so, divided by those that are either. Classes that never occur, true or predicted, do not count.",
              {"IoU"});

struct PrecisionRecallParams {
  std::optional<int64_t> num_classes;
  bool binarize = true;
  double epsilon = 1e-6;
  static void describe(auto&& p) {
    p("num_classes", &PrecisionRecallParams::num_classes, "Must be the number of outputs; by default it is.",
      at_least(2));
    p("binarize", &PrecisionRecallParams::binarize,
      "Takes the highest output alone as the prediction; otherwise adds up every output as it is.");
    p("epsilon", &PrecisionRecallParams::epsilon, "Added to the counts divided by.", above(0));
  }
};
// Averages over the classes of found / (predicted + epsilon) and found / (true + epsilon): a class that never occurs
// counts as 0. neon left `binarize` off unless asked for, and then took raw outputs for predictions.
struct PrecisionRecall : Parametrized<Metric, PrecisionRecallParams> {
  using Parametrized::Parametrized;
  std::vector<Result> results() const override {
    return {{"Precision", true, Better::higher}, {"Recall", true, Better::higher}};
  }
  std::vector<Expr> partial(Expr y, Expr t, Expr weight) const override {
    const Expr predicted = (params.binarize ? chosen(y) : y) * weight;
    return {sum(predicted * t, {0}), sum(predicted, {0}), sum(t * weight, {0})};
  }
  std::vector<double> finish(const std::vector<std::vector<double>>& s, double) const override {
    const size_t classes = s[0].size();
    double precision = 0, recall = 0;
    for (size_t c = 0; c < classes; ++c) {
      precision += s[0][c] / (s[1][c] + params.epsilon);
      recall += s[0][c] / (s[2][c] + params.epsilon);
    }
    return {precision / double(classes), recall / double(classes)};
  }
  std::string objection(int64_t outputs, int64_t classes) const override {
    if (params.num_classes.value_or(outputs) != outputs)
      return text("num_classes is ", *params.num_classes, ", but there are ", outputs, " outputs");
    return Metric::objection(outputs, classes);
  }
};
NEON_REGISTER(Metric, PrecisionRecall, "Precision and recall, each averaged over the classes.");

}  // namespace

}  // namespace neon
