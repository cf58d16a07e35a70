// The mean costs of the outputs of a training step.
#pragma once
#include <vector>

#include "models/batch.h"
#include "models/step_graph.h"
#include "transforms/cost.h"

namespace neon {

// The mean of the costs (rows,1) of a training batch; of several ranks this one's part of it.
Expr average_of(StepGraph& step, const Batch& batch, Expr each, const StepOptions& options);

// The weighted sum of the mean costs of outputs with a target each. These costs, of all ranks, are outputs of the step.
Expr average_of_outputs(StepGraph& step, LayerContext& context, const Cost& cost, const DataLayout& data, Expr y,
                        const Batch& batch, const StepOptions& options);

// Outputs part/I: the mean costs of the outputs times their weights, of all ranks; `averages` are this rank's parts.
void output_parts(StepGraph& step, const Cost& cost, const std::vector<Expr>& averages, const StepOptions& options);

}  // namespace neon
