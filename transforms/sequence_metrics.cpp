// How far sequences of labels that a net predicts are from the targets.
#include <algorithm>
#include <cmath>

#include "backends/graph/label_sequences.h"
#include "transforms/metric.h"

namespace neon {

namespace {

// A metric of sequences, whose sums are those of the columns (N,1) that a rule makes.
template <typename Params>
struct SequenceMetric : Parametrized<Metric, Params> {
  using Parametrized<Metric, Params>::Parametrized;
  bool of_sequences() const override { return true; }

 protected:
  std::vector<Expr> partial(Expr, Expr, Expr) const override { return {}; }  // of rows, which it does not compare
  static Expr total(Expr each) { return sum(each, all_axes(each.shape())); }
  // The number of labels (N,T) that are not below 0, (N,1).
  static Expr count_of(Expr labels, DType dtype) {
    return sum(cast(apply("greater_equal", labels, labels.constant(0)), dtype), {1});
  }
  static Expr distances(Expr predicted, Expr labels, DType dtype) {
    const Value each = edit_distance(predicted.graph(), predicted, labels);
    return cast(reshape(Expr(predicted.graph(), each), {predicted.shape()[0], 1}), dtype);
  }
};

struct EditDistance : SequenceMetric<NoParams> {
  using SequenceMetric::SequenceMetric;
  std::vector<Result> results() const override { return {{"EditDistance", true, Better::lower}}; }
  std::vector<Expr> sums_of_sequences(Expr predicted, Expr labels, Expr weight) const override {
    const DType dtype = weight.dtype();
    return {total(distances(predicted, labels, dtype) * weight), total(count_of(labels, dtype) * weight)};
  }
  std::vector<double> finish(const std::vector<std::vector<double>>& s, double) const override {
    return {s[0][0] / std::max(s[1][0], 1.0)};
  }
};
NEON_REGISTER(
    Metric, EditDistance,
    "Label error rate: how many labels must be put in, left out or replaced in the predictions to make them the "
    "targets, for each label of the targets. The prediction of a step is its likeliest class. With CTC, blanks "
    "and repeats are left out.",
    {"LabelErrorRate"});

struct ExactMatch : SequenceMetric<NoParams> {
  using SequenceMetric::SequenceMetric;
  std::vector<Result> results() const override { return {{"ExactMatch", true, Better::higher}}; }
  std::vector<Expr> sums_of_sequences(Expr predicted, Expr labels, Expr weight) const override {
    const Expr distance = distances(predicted, labels, weight.dtype());
    return {total(cast(apply("equal", distance, distance.constant(0)), weight.dtype()) * weight), total(weight)};
  }
  std::vector<double> finish(const std::vector<std::vector<double>>& s, double) const override {
    return {s[0][0] / std::max(s[1][0], 1.0)};
  }
};
NEON_REGISTER(Metric, ExactMatch,
              "Share of samples whose predicted labels are the labels of the target, all of them and no more.");

}  // namespace

}  // namespace neon
