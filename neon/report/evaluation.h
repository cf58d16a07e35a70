// The evaluation in a run's folder (eval.json), for the page.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace neon {

// Samples, and what stands below the picture of each. Samples without pictures stand in a table.
struct ReportedSamples {
  std::vector<std::vector<std::string>> captions;
  std::vector<std::string> heads;
  std::vector<std::vector<std::string>> rows;
};

struct ReportedEvaluation {
  std::string json;  // results and reports by target, as the page takes them; "" without an evaluation
  ReportedSamples worst, predicted;
  int64_t height = 0, width = 0;  // of a sample's picture; 0: those of the samples
  std::string beside;             // that picture's part beside the sample: "its reconstruction"
};

// Throws a data error that names the place where the content is not that of neon's. A sample that is damaged is a
// warning, and has no row.
ReportedEvaluation read_evaluation(std::string_view content, const std::string& path,
                                   std::vector<std::string>& warnings);

}  // namespace neon
