// A run of several phases that ended before its last one, whose net is what evaluations and predictions use.
#pragma once
#include <string>

#include "neon/train/experiment.h"
#include "neon/train/run_state.h"

namespace neon {

// Says that the last phase of a run has not trained yet, with the command that trains it; "" where it has.
std::string untrained_phase(const Experiment& experiment, const Position& at, const std::string& path);

// Prints that as a warning.
void warn_of_untrained_phase(const Experiment& experiment, const Position& at, const std::string& path);

}  // namespace neon
