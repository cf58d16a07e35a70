// The files of a run, which neon check looks at before there is a run.
#pragma once
#include "neon/cli/command_line.h"
#include "neon/train/experiment.h"

namespace neon {

// Refuses files of options and of the spec as a training would, and prints its warnings about them.
void check_run_files(const CommandLine& line, const Experiment& experiment, const RunOptions& options);

}  // namespace neon
