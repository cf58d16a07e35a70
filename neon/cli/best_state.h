// The file that the callback SaveBestState names.
#pragma once
#include <string>
#include <vector>

#include "neon/cli/command_line.h"
#include "neon/train/experiment.h"

namespace neon {

// Before the first step. Throws a config error for a file outside of the current folder, as somebody else's checkpoint
// may name, and a data error for a file that no run with this callback has written. Returns a warning where the run has
// no folder, in which alone the best net is kept.
std::vector<std::string> check_best_state(const CommandLine& line, const Experiment& experiment,
                                          const RunOptions& options, bool has_folder);
// At the run's end. Returns messages.
std::vector<std::string> write_best_state(const Experiment& experiment, const RunOptions& options);

}  // namespace neon
