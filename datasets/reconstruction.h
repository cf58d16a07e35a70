// Samples as targets of their own, beside those that a data set has (Dataset::Common::reconstruct).
#pragma once
#include "datasets/dataset.h"

namespace neon {

// The targets of such a set: those it had, and one named `sample`. Throws a config error for sequences, and for targets
// of several axes. `target`: the shape of one target.
std::vector<NamedTarget> targets_with_samples(const SampleMeaning& meaning, const Shape& target,
                                              const std::string& source);

// Writes the samples behind the targets, in the numbers that the net sees before `normalize`.
void add_samples_to_targets(Data& data);

}  // namespace neon
