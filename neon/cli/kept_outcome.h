// The part of an evaluation that its report and its samples are made of, beside cost and metrics.
#pragma once
#include <vector>

#include "neon/cli/target_reports.h"
#include "neon/train/evaluator.h"

namespace neon {

class KeptOutcome {
 public:
  // The sums that Evaluator::kept() gives for metrics().
  using Sums = std::vector<std::vector<std::vector<double>>>;
  // The set is borrowed. `costs`: whether the costs of samples are wanted, too.
  KeptOutcome(const Experiment& experiment, const Data& data, const EvaluatedSet& set, bool costs);
  const Split& split() const { return split_; }
  // Whether there is a report: outputs are kept, or the classes of pixels or steps are counted.
  bool has_report() const { return outputs_ || counts_; }
  // Whether single samples can be shown: their outputs or their costs are kept.
  bool has_samples() const { return outputs_ || costs_; }
  std::vector<const Metric*> metrics() const;
  // The outcomes by target.
  std::vector<TargetOutcome> targets(const Data& data, const OutputSpecs& outputs, const Sums& sums) const;
  // All outputs side by side; empty where they are not kept.
  Outcome outputs_of(const Sums& sums) const;
  // The cost of each sample; empty where costs are not kept, or where a sample was left out.
  std::vector<double> costs_of(const Sums& sums) const;

 private:
  const bool outputs_, counts_, costs_;
  const Split& split_;
};

}  // namespace neon
