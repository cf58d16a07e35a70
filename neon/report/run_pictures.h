// Runs as PNG pictures: a chart for each curve, histograms, the confusion matrix, sheets of samples and filters, the
// graph of the net.
#pragma once
#include <string>
#include <vector>

#include "neon/report/run.h"

namespace neon {

struct NamedPicture {
  std::string name;  // "cost-train.png"
  std::string png;
};

// Charts lay all runs over one another; the other pictures are of each run, whose name they begin with where there are
// several.
std::vector<NamedPicture> run_pictures(const std::vector<ReportedRun>& runs);

}  // namespace neon
