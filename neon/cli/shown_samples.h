// Single samples of an evaluation, for sheets, lines and eval.json: those that the net is worst at, and others.
#pragma once
#include <nlohmann/json.hpp>
#include <vector>

#include "neon/cli/kept_outcome.h"

namespace neon {

class ShownSamples {
 public:
  // All are borrowed. `kept` are the sums of an evaluation.
  ShownSamples(const KeptOutcome& outcome, const Data& data, const OutputSpecs& outputs, const KeptOutcome::Sums& kept);
  // Whether there are numbers for every sample of the split: none was left out.
  bool complete() const { return complete_; }
  // At most so many samples, the worst first: of classes those whose true class has the least output, of numbers those
  // whose outputs are furthest from the targets. The highest cost decides for several targets, for classes of pixels or
  // steps, and for samples that are their own targets.
  std::vector<int64_t> worst(int64_t most) const;
  // So many samples from all over the set, at equal distances.
  std::vector<int64_t> spread(int64_t most) const;

  // {"sample": 3, "file": "dog/3.png"} and what the net gave: of a class its name, the predicted one and that one's
  // output; of numbers target and output; of several targets these under "targets", beside the cost.
  nlohmann::json json(const std::vector<int64_t>& samples) const;
  // "dog/3.png: dog, predicted cat, output of dog 0.0312", or "dog/3.png: cost 2.31"
  std::string line(int64_t sample) const;

 private:
  bool by_cost() const { return outcome_.size() == 0 || !data_.targets.empty(); }
  const Data& data_;
  const Split& split_;
  Outcome outcome_;
  std::vector<TargetOutcome> targets_;  // of several targets
  std::vector<double> costs_;
  bool complete_ = false;
};

}  // namespace neon
