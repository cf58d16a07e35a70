// Parts of a rule's step that ranks share: draws by the place of a sample in the whole batch, and chains of samples.
#pragma once
#include <string>

#include "backends/graph/draw_places.h"
#include "layers/layer.h"

namespace neon {

// Uniform numbers (N,...) for the samples of this rank, as one process draws them for the same samples.
inline Expr draws_of_samples(LayerContext& context, const Shape& shape, const std::string& stream) {
  const DrawPlaces places{.first = context.share.first * (shape.elements() / shape[0])};
  return context.expr(uniform(context.graph, shape, context.seed, stream, places));
}

// The variable of a machine's chains (N,D), a row for each sample of a whole batch. It belongs to the training step, as
// carried states do: the net without its training has none. Each rank keeps all rows.
inline std::string chains_of(const std::string& layer) { return layer + "/chains" + kCarried; }
inline bool has_chains(std::string_view variable) { return variable.ends_with(chains_of("")); }

// The rows (n,D) of this rank's samples, with those of all other ranks in their places: the rows of the whole
// batch. In exchange.cpp.
Expr rows_of_ranks(LayerContext& context, Expr own);

}  // namespace neon
