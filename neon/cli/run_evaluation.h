// The evaluation at the end of a run, in its folder.
#pragma once
#include <string>

#include "neon/cli/command_line.h"
#include "neon/train/experiment.h"

namespace neon {

// The best checkpoint of a run, else the last; "" without one.
std::string checkpoint_to_evaluate(const RunOptions& options);

// Evaluates the best checkpoint of a run, else the last, as neon eval does, and writes eval.json: results, precision,
// recall and calibration or residuals, and the worst samples. Images of these go to worst.png. Nothing is written for
// nets without such tables. Returns a warning or "".
std::string write_run_evaluation(const CommandLine& line, const Experiment& experiment, const Data& data,
                                 const RunOptions& options);

// For a page about a checkpoint: the same files in `folder`, of the data of its run, and sheets of guided
// backpropagation of its first convolutions. Returns notes and warnings.
std::vector<std::string> write_checkpoint_evaluation(const CommandLine& line, const std::string& path,
                                                     const std::string& folder);

}  // namespace neon
