// The folder of a run, runs/NAME-N below the folder in which it began. It holds all that the run writes: the spec as
// resolved, the log, the metrics file, the last and the best checkpoint, and a table of results.
#pragma once
#include <string>
#include <vector>

#include "neon/train/experiment.h"

namespace neon {

inline constexpr const char* kRunsFolder = "runs";
// The files in a run's folder. A file that an option places elsewhere has a link here.
inline constexpr const char* kSpecFile = "spec.yaml";
inline constexpr const char* kRunLogFile = "run.log";
inline constexpr const char* kRunMetricsFile = "run.h5";
inline constexpr const char* kLastFile = "last.safetensors";
inline constexpr const char* kBestFile = "best.safetensors";
inline constexpr const char* kResultsFile = "results.csv";
inline constexpr const char* kReportFile = "report.html";
inline constexpr const char* kEvaluationFile = "eval.json";
inline constexpr const char* kWorstFile = "worst.png";
inline constexpr const char* kPredictionsFile = "predictions.png";
inline constexpr std::string_view kGuidedBegin = "guided_";  // of the sheet of a layer, guided_LAYER.png

// The checkpoints from which to take a trained net, in the order in which they are wanted.
inline const std::vector<std::string> kNetFiles = {kBestFile, kLastFile};

// Makes the folder runs/NAME-N and returns its path. N is one more than the highest there, and two runs that begin at
// once get different folders. Throws a failed error where the disk refuses.
std::string make_run_folder(const std::string& name);
// The name with which a run's folder was made: "photos" for "runs/photos-12".
std::string name_of_run(const std::string& folder);
// Takes the run in runs/ that wrote a file of these names most recently. Returns the first of these files that the run
// has; "" where no run has any.
std::string newest_checkpoint(const std::vector<std::string>& names);

// The path itself, or, of a run's folder, the first of these files that is there. Throws a data error for a folder
// without any.
std::string checkpoint_at(const std::string& path, const std::vector<std::string>& names);

// Whether the last checkpoint of the run is in its folder, and not where an option says.
bool saves_in_run_folder(const RunOptions& options);
// Writes the resolved spec of a run into its folder, where none is there. Throws a failed error.
void write_run_spec(const Experiment& experiment, const RunOptions& options);

}  // namespace neon
