// The last lines of a run.
#pragma once
#include <string>
#include <vector>

#include "neon/cli/command_line.h"
#include "neon/train/trainer.h"

namespace neon {

// Lines of results, time, files, the best and the last checkpoint, and the next command to try.
std::vector<std::string> run_summary(const RunResult& result, const Experiment& experiment, const Data& data,
                                     const RunOptions& options, const CommandLine& line);

}  // namespace neon
