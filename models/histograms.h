// Histograms of weights and gradients as part of a training step.
#pragma once
#include "models/step_graph.h"

namespace neon {

// Outputs hist/LAYER_W, hist/LAYER_dW ... of the arrays asked for, "W", "dW" ...: of stored parameters as the step
// finds them, and of the gradients of its batch, unscaled. They count where the record's `watched` is 1. Gradients that
// nobody derived are invalid Values. A config error where no layer has what is asked for.
// `tensors` may be kAllArrays.
constexpr const char* kAllArrays = "*";
void add_histograms(StepGraph& step, const std::vector<std::string>& tensors, const std::vector<Value>& stored,
                    const std::vector<Value>& gradients);

}  // namespace neon
