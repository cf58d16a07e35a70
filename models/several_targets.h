// Several targets of a sample, each with an output of the net.
#pragma once
#include "models/step_graph.h"

namespace neon {

// The places in data.targets of the targets of options.outputs, in their order. Throws a config error about `outputs`
// where a target has no output, or an output no target.
std::vector<size_t> targets_of_outputs(const DataLayout& data, const StepOptions& options);

// Targets (N,columns) of a batch as the outputs are compared with them, side by side in the order of the outputs
// (N,widths): a class is 1 at its number.
Expr compared_targets(Graph& graph, const DataLayout& data, const StepOptions& options, Value targets, DType dtype);

// Columns [first, first + count) of x (N,K).
Expr columns_of(Expr x, int64_t first, int64_t count);

// Outputs (N,K) side by side.
Expr joined_outputs(const std::vector<Expr>& outputs);

// The standard of each output's targets, in the order of the outputs; of one output that of the data.
std::vector<Standard> standards_of_outputs(const DataLayout& data, const StepOptions& options);

}  // namespace neon
