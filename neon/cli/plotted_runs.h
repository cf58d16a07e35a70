// The operands of neon plot as runs: metrics files, folders of runs, checkpoints.
#pragma once
#include <string>
#include <vector>

#include "neon/cli/command_line.h"
#include "neon/report/run.h"

namespace neon {

struct PlottedPath {
  std::string path;
  bool found = false;  // in a folder of runs, not named itself
};

// All of them. With `views`, for a page, also graphs, evaluations and pictures; a checkpoint is then evaluated.
// Warnings are printed. A run that was found and cannot be read is a warning, and leaves `paths`, too.
std::vector<ReportedRun> plotted_runs(const CommandLine& line, std::vector<PlottedPath>& paths, bool views);

// In place of a folder that is no run but has runs in it, as runs/, these runs, in the order of their names and
// numbers.
std::vector<PlottedPath> with_runs_of_folders(const std::vector<std::string>& paths);

// Whether the path is that of a .safetensors file.
bool is_checkpoint(const std::string& path);

}  // namespace neon
