// `predictions` of a spec: what the trained net gives for whole sets, beside their targets, in a file of NumPy's.
#pragma once
#include <string>
#include <vector>

#include "neon/cli/command_line.h"
#include "neon/train/experiment.h"

namespace neon {

// Before the first step. Throws a config error about the key for a net without such outputs, and a data error
// where another file lies in its place; returns a warning for each set that the data lack.
std::vector<std::string> check_predictions(const CommandLine& line, const Experiment& experiment, const Data& data,
                                           const RunOptions& options);
// The parts of it that need no samples. A run that `makes_folder` writes them there.
std::vector<std::string> check_predictions_place(const CommandLine& line, const Experiment& experiment,
                                                 const RunOptions& options, bool makes_folder);
void check_predicted_net(const Experiment& experiment, const SampleMeaning& meaning);

// Writes predictions.npz into the run's folder, or FILE.predictions.npz beside its checkpoint, by the weights that neon
// eval takes: of each set SET_outputs (n, ...), SET_targets (n) or (n, ...), and SET_samples (n), their numbers in the
// source. A step without a target, such as one of padding, has -1 or NaN there. Several targets have SET_outputs_NAME
// and SET_targets_NAME. Returns messages.
std::vector<std::string> write_run_predictions(const CommandLine& line, const Experiment& experiment, const Data& data,
                                               const RunOptions& options);

}  // namespace neon
