// Every point of every run as lines of CSV.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "neon/report/run.h"

namespace neon {

// Hands out lines without their ends: the names of the columns, then run, curve, step, epoch, seconds and value of each
// point. A cell is empty where the run has no times.
void write_curve_table(const std::vector<ReportedRun>& runs, const std::function<void(const std::string&)>& line);

}  // namespace neon
