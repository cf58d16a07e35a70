// Steps of sequences for which a net has no outputs.
#pragma once
#include <string>

#include "neon/train/evaluator.h"

namespace neon {

// A warning that the net has no outputs for the last steps of some sequences of the set, whose targets then do not
// count; "" without such steps. `training`: the outputs of the net are those of a training step.
std::string lost_steps_text(const TrainedPhase& phase, const DataLayout& layout, const StepOptions& step,
                            const EvaluatedSet& set, bool training);

// A warning that labels of some samples of the set do not fit into the steps that the net leaves (cost: CTC); "" where
// all fit, and for another cost.
std::string misfits_text(const TrainedPhase& phase, const DataLayout& layout, const StepOptions& step,
                         const EvaluatedSet& set, bool training);

}  // namespace neon
