// For how many steps of a sequence a net has outputs.
#pragma once
#include "models/step_graph.h"

namespace neon {

// For each output of the net, in the order of all_outputs(): the steps that it gives for sequences of 1, 2 and more
// steps, up to those of the data. Empty for an output that gives as many as a sequence has, and where steps have no
// targets of their own. `training`: outputs that a net has in training alone are among them.
std::vector<std::vector<int64_t>> steps_with_outputs(const Network& network, const DataLayout& data,
                                                     const StepOptions& options, bool training);

// The steps of the net's last output for sequences of 1, 2 and more steps, up to those of the data.
std::vector<int64_t> steps_of_output(const Network& network, const DataLayout& data, const StepOptions& options,
                                     bool training);

}  // namespace neon
