// Whether what training has made of the variables is still numbers.
#pragma once
#include <string>

#include "backends/program.h"
#include "models/step_graph.h"
#include "neon/train/safetensors.h"

namespace neon {

// Describes the first variable with an element that is not finite, or that is not once the net, of type `dtype`, reads
// it: f32 masters beyond the largest f16 are infinite to a net of f16. "" where all are sound. Sums of gradients do not
// count: a batch that spoils them is left out later. Variables are as the host has them.
std::string first_not_finite(const Variables& variables, const StepGraph& step, DType dtype);

// The same of the weights and statistics of a checkpoint, as evaluated_weights gives them.
std::string first_not_finite(const TensorFile& weights);

}  // namespace neon
