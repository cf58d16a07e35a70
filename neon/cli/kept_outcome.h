// The part of an evaluation that its report is made of, beside cost and metrics.
#pragma once
#include <vector>

#include "neon/cli/target_reports.h"
#include "neon/train/evaluator.h"

namespace neon {

class KeptOutcome {
 public:
  // The set is borrowed.
  KeptOutcome(const Data& data, const EvaluatedSet& set);
  // Whether the outputs for each sample are kept.
  bool has_outputs() const { return outputs_; }
  // Whether there is a report: outputs are kept, or the classes of pixels or steps are counted.
  bool any() const { return outputs_ || counts_; }
  // For Evaluator; null without a report.
  const Metric* metric() const;
  // The outcomes by target, of the sums of that metric.
  std::vector<TargetOutcome> targets(const Data& data, const OutputSpecs& outputs,
                                     const std::vector<std::vector<double>>& sums) const;

 private:
  const bool outputs_, counts_;
  const Split& split_;
};

}  // namespace neon
