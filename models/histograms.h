// Histograms of weights, gradients and outputs of layers as part of a training step.
#pragma once
#include "models/step_graph.h"

namespace neon {

// Outputs hist/LAYER_W, hist/LAYER_dW ... of the arrays asked for, "W", "dW" ...: of stored parameters as the step
// finds them, and of the gradients of its batch, unscaled. They count where the record's `watched` is 1. Gradients that
// nobody derived are invalid Values. A config error where no layer has what is asked for.
// `options.histograms` may be kAllArrays: weights and gradients.
// With `options.ranges` each has range/NAME/WHAT, too, in every step, WHAT being least, largest, negative and zero: the
// ends, and how many numbers are below 0 and are 0.
// The step of a rule's player after the first counts the gradients of its own parameters alone.
constexpr const char* kAllArrays = "*";
constexpr const char* kRangeParts[] = {"least", "largest", "negative", "zero"};
void add_histograms(StepGraph& step, const StepOptions& options, const std::vector<Value>& stored,
                    const std::vector<Value>& gradients);

// Outputs hist/LAYER_y of all layers, where `tensors` has "y": of the numbers that they give for the batch, of all
// ranks, without the padding of sequences. The counts of a layer that runs several times are added up.
constexpr const char* kOutputs = "y";
void add_output_histograms(StepGraph& step, LayerContext& context, const StepOptions& options);

}  // namespace neon
