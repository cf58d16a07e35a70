#include "neon/train/target_range.h"

namespace neon {

void check_target_range(const Experiment& experiment, const Data& data) {
  const Made<Cost>& cost = experiment.params.cost;
  const Tensor& targets = data.train.targets;
  if (!cost || data.classes > 0 || !data.targets.empty() || targets.empty() || targets.dtype() != DType::f32) return;
  if (cost->suits(TargetKind::number) || (!cost->suits(TargetKind::classes) && !cost->suits(TargetKind::labels)))
    return;
  const Setting& resolved = cost.resolved();
  const std::string& name = resolved.is_map() ? resolved.entries.at(0).key : resolved.value;
  for (const float value : targets.as<float>())
    if (value < 0 || value > 1)  // not NaN, which is padding
      fail_about("cost", name, " compares outputs with targets between 0 and 1, and a target is ", value,
                 "; MeanSquared suits values (standardize: false keeps those of a table as they are)");
}

}  // namespace neon
