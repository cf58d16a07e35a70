// Sums over all ranks, for layers that compute with the samples of a whole batch.
#pragma once
#include "layers/layer.h"

namespace neon {

// The sums over all ranks of what each has of its samples; a rank whose samples do not count adds 0. A gradient passes
// as the sum of those that all ranks have.
std::vector<Expr> over_ranks(const LayerContext& context, std::vector<Expr> parts);
Expr over_ranks(const LayerContext& context, Expr part);

}  // namespace neon
