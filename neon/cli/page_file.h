// The page that shows runs, as a file.
#pragma once
#include <string>
#include <vector>

#include "neon/report/run.h"

namespace neon {

// Writes the page and returns its size in bytes. Throws a data error where a file of the name is no page of neon's,
// unless it may be overwritten.
size_t write_page(const std::string& path, const std::vector<ReportedRun>& runs, bool overwrite);

// At the end of a run: report.html in its folder, about the run's files. Returns warnings.
std::vector<std::string> write_run_page(const std::string& folder);

}  // namespace neon
