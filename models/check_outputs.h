// That the outputs of a net are as many numbers as the targets of its data.
#pragma once
#include "models/step_graph.h"

namespace neon {

// Throws a config error that shows the shapes from the samples x (N, ...) to the outputs y (N, ...), of which one, or
// one of a Tree's branches, has not the size of the targets t (N, K).
void check_outputs(const Network& network, const LayerContext& context, const DataLayout& data, Expr x, Expr t, Expr y);

}  // namespace neon
