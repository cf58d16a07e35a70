// Notes on what the number of ranks means for a run.
#pragma once
#include <string>
#include <vector>

#include "models/step_graph.h"
#include "neon/train/run_setup.h"

namespace neon {

// `graph` is of a step. A run that goes on had so many ranks, `before`; 0: that is unknown, or the run begins here.
std::vector<std::string> rank_notes(const RunSetup& setup, const StepGraph& graph, int64_t before);

}  // namespace neon
