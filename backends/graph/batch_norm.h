// The definition of batch norm's gradient in pieces, for passes that arrange it in another way. See ops_batch_norm.cpp.
#pragma once
#include "backends/graph/expression.h"

namespace neon {

// The gradient by x apart from its last step, dx = gain g - (offset + slope (x - average)). All but g have one number
// a channel.
struct BatchNormGradient {
  Expr gain, g, offset, slope, average, dgamma, dbeta;
};
// `node` is a batch_norm_grad, its inputs values of `graph`.
BatchNormGradient apart(Graph& graph, const Node& node);

}  // namespace neon
