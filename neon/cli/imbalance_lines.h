// Notes on classes with few training samples, with what the spec can do about them.
#pragma once
#include <string>
#include <vector>

#include "neon/train/experiment.h"

namespace neon {

// A line for the only target, or for each of several, whose classes differ much in size and are neither weighed nor
// drawn alike. `sizes`: class_sizes() of the training samples; empty: unknown.
std::vector<std::string> imbalance_lines(const ExperimentParams& params, const SampleMeaning& meaning,
                                         const std::vector<int64_t>& sizes);

}  // namespace neon
