// Counts the sizes of all weights and gradients of a run, in the last step of each epoch.
#pragma once
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "neon/train/callback.h"

namespace neon {

// An array's elements over all counted steps. Bin i has those of size 2^(kSizeOfZero + i), the first has the zeros;
// infinities and NaN are in no bin.
struct SizeCounts {
  double elements = 0;
  bool gradient = false;
  std::vector<double> bins;
};
SizeCounts size_counts_of(const nlohmann::ordered_json& from);

class SizeCounter : public Callback {
 public:
  const void* params_address() const override { return nullptr; }
  std::string subject() const override { return "sizes"; }
  void prepare(StepOptions& options) const override;
  void plan(RunPlan& plan) override;
  bool watches(const Progress& at) const override;
  void step_end(StepEnd& end) override;
  // {"Affine_0_W": {"elements": ..., "gradient": false, "bins": [...]}, ...}
  nlohmann::ordered_json json() const;

 private:
  std::vector<std::string> names_;
  std::map<std::string, double> elements_;  // of a step
  std::map<std::string, SizeCounts> counts_;
};

}  // namespace neon
