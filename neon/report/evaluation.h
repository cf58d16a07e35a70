// The evaluation in a run's folder (eval.json), for the page.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace neon {

// Samples that the file has pictures of, and what stands below each picture.
struct ReportedSamples {
  std::vector<std::vector<std::string>> captions;
};

struct ReportedEvaluation {
  std::string json;  // results and reports by target, as the page takes them; "" without an evaluation
  ReportedSamples worst, predicted;
};

// Throws a data error that names the place where the content is not that of neon's.
ReportedEvaluation read_evaluation(std::string_view content, const std::string& path);

}  // namespace neon
