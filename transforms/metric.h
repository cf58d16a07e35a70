// Metrics: sums over the samples of a batch, made by the graph, and what they mean over a whole set.
#pragma once
#include "backends/graph/expression.h"
#include "neon/core/registry.h"
#include "transforms/boxes.h"
#include "transforms/output_form.h"

namespace neon {

class Metric {
 public:
  static constexpr const char* kCategory = "metric";
  virtual ~Metric() = default;
  virtual const void* params_address() const = 0;
  enum class Better { lower, higher };
  struct Result {
    std::string name;            // as it stands in the metrics file
    bool share;                  // of samples, say: from 0 to 1, and told in percent
    Better better;               // which of two nets a callback prefers
    bool of_one_output = false;  // of several; the sum of all costs says which net is better
  };
  virtual std::vector<Result> results() const = 0;
  // Where `weight` (N,1) is 1 a sample counts, where 0 it does not. y, t (N,K) -> arrays whose elements are sums
  // over the samples. A config error shows both shapes where they differ.
  std::vector<Expr> sums(Expr y, Expr t, Expr weight) const {
    if (y.shape() != t.shape())
      fail(ErrorKind::config, "the metric compares outputs ", y.shape(), " with targets ", t.shape(),
           ": shapes differ");
    return partial(y, t, weight);
  }
  // The sums of all outputs of a net, the last layer's first.
  virtual std::vector<Expr> sums_of_all(const std::vector<Expr>& outputs, Expr t, Expr weight) const {
    return sums(outputs[0], t, weight);
  }
  // Whether it compares whole sequences of labels, through sums_of_sequences().
  virtual bool of_sequences() const { return false; }
  // The labels that the net predicts, (N,T) i32, and labels (N,L) i32, numbers below 0 being none; weight (N,1).
  virtual std::vector<Expr> sums_of_sequences(Expr predicted, Expr labels, Expr weight) const {
    (void)labels;
    NEON_ASSERT(of_sequences());
    return {predicted, weight};
  }
  // Whether it compares the detections of a net with boxes of objects, through sums_of_boxes().
  virtual bool of_objects() const { return false; }
  // Detections (N,D,6), boxes (N,M,6), weight (N,1).
  virtual std::vector<Expr> sums_of_boxes(Expr detections, Expr boxes, Expr weight) const {
    NEON_ASSERT(of_objects());
    return {detections, boxes, weight};
  }
  // Whether it takes the cost of each sample, through sums_of_costs().
  virtual bool of_costs() const { return false; }
  // Costs (N,1), means over the parts of a sample that have targets; weight (N,1).
  virtual std::vector<Expr> sums_of_costs(Expr costs, Expr weight) const {
    NEON_ASSERT(of_costs());
    return {costs, weight};
  }
  // Whether sums() are numbers of each sample, (N,K) each: finish() then gets those of all batches, one after the
  // other.
  virtual bool keeps_samples() const { return false; }
  // Whether it takes two kinds of samples apart: a target of numbers must have two values then, as 0 and 1.
  virtual bool of_two_kinds() const { return false; }
  // Whether y and t are to be in the units of the data, where the data set standardised the targets. Both are scaled
  // then, and not moved: only their differences count. `rules` are those by which the data was read
  // (datasets/sample_meaning.h), so a run from before goes on in the units that it began with.
  virtual bool in_own_units(int /*rules*/) const { return false; }
  // A number for each result, from the sums over all batches and the number of samples that counted.
  virtual std::vector<double> finish(const std::vector<std::vector<double>>& sums, double samples) const = 0;
  virtual std::string objection(int64_t outputs, int64_t classes) const {
    (void)outputs;
    return classes > 0 ? "" : "needs classes, the data set has none";
  }
  virtual std::string objection(const std::vector<OutputForm>& outputs, int64_t classes) const {
    return objection(outputs[0].width, classes);
  }

 protected:
  // The formula, for y and t of the same shape.
  virtual std::vector<Expr> partial(Expr y, Expr t, Expr weight) const = 0;
};

}  // namespace neon
