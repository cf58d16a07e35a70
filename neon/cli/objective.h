// One trial of a search for another program: values in, a line of JSON out.
#pragma once
#include "neon/cli/session.h"

namespace neon {

// Trains the spec with the values of --value, writes no file, and prints what came out:
//   {"status": "done", "set": "validation", "metric": "Top1Misclass", "better": "lower", "objective": 0.04, ...}
// `bytes` are those of a step's values, weights and optimizer. As a run of neon formats the line also has the last loss
// scale and `sizes`; see size_counter.h. With --curve each evaluation prints {"epoch": 3, "of": 10, "objective": ...}
// before. A run that fails prints its status and its cause, and throws.
int run_objective(const CommandLine& line);

// Throws what run_objective would throw before its first step: for data that are wrong or have no samples to compare
// trials by, and for a `metric` that is not evaluated. `options` have their backend.
void check_objective(const OpenedSpec& spec, const RunOptions& options, const std::string& metric);

}  // namespace neon
