// Binary layers that see the signs of samples.
#pragma once
#include <string>

#include "neon/train/experiment.h"

namespace neon {

// A warning about a first layer that takes the signs of bytes, which are all alike, or "".
std::string advice_on_signs(const Experiment& experiment, const StepGraph& graph, const DataLayout& layout);

}  // namespace neon
