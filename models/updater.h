// The end of a training step: gradients are unscaled, checked to be finite, added up over several batches and clipped;
// then the optimizer's rule updates the weights, their running means and the layers' states.
#pragma once
#include "models/step_graph.h"

namespace neon {

// The stored arrays of all parameters, whose gradients a step takes.
std::vector<Value> stored_parameters(StepGraph& step, const LayerContext& context);

// How many elements are not finite, one number (1) of this type.
Expr not_finite(Graph& graph, const std::vector<Value>& gradients, DType dtype);

// Adds the update to the graph of a step, with the output `finite`: 1 where the cost and all gradients are. `gradients`
// are those of the cost, one for each parameter, times the loss scale in 16 bits. A config error where a MultiOptimizer
// names what no parameter belongs to. `spoilt`: how many elements of split parameters' gradients are not finite on any
// rank; invalid without such.
void add_update(StepGraph& step, const Optimizer& optimizer, const StepOptions& options, const LayerContext& context,
                Expr cost, const std::vector<Value>& gradients, Value spoilt = {});

}  // namespace neon
