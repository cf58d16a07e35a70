// The weights of --model_file and files of word vectors, for neon check.
#pragma once
#include <vector>

#include "neon/train/experiment.h"
#include "neon/train/options.h"
#include "neon/train/safetensors.h"

namespace neon {

// The tensors that a training with this step's graph would take, none without a file. Prints the training's messages,
// and throws its errors, also where a file of word vectors is missing.
std::vector<NamedTensor> check_weights(const Experiment& experiment, const RunOptions& options, const DataCheck& check,
                                       const StepOptions& step, const StepGraph& graph);

}  // namespace neon
