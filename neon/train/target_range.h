// Whether targets are numbers that a cost can compare outputs with.
#pragma once
#include "datasets/dataset.h"
#include "neon/train/experiment.h"

namespace neon {

// Throws a config error where a cost of classes or of yes and no, or a machine of binary units, gets values below 0 or
// above 1.
void check_target_range(const Experiment& experiment, const Data& data, const DataLayout& layout);

}  // namespace neon
