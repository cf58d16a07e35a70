// A batch in pieces, for a library that does not take its arrays at once, or not well.
#pragma once
#include <vector>

#include "backends/graph/graph.h"

namespace neon::cuda {

struct BatchPiece {
  int64_t first = 0, images = 0;
};

// Pieces of arrays x (N,...) and y (N,...), neither empty. All have one size, but the last may be smaller. A piece has
// at most 2^31 - 1 elements of either array and `most_bytes` of both, and begins at multiples of 16 bytes. The fewest
// images that keep this alignment are a piece, even if they exceed these limits.
std::vector<BatchPiece> batch_pieces(const TensorType& x, const TensorType& y, size_t most_bytes);

}  // namespace neon::cuda
