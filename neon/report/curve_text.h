// Runs for a terminal: a table, the curves drawn with letters, and the settings that differ.
#pragma once
#include <string>
#include <vector>

#include "neon/report/run.h"

namespace neon {

// Lines of at most `width` letters, where names and settings allow that.
std::vector<std::string> runs_as_text(const std::vector<ReportedRun>& runs, int width);

}  // namespace neon
