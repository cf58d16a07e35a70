// A batch in pieces, for a library that does not take its arrays at once, or not well.
#pragma once
#include <vector>

#include "backends/graph/graph.h"

namespace neon::cuda {

struct BatchPiece {
  int64_t first = 0, images = 0;
};

// Of arrays x (N,...) and y (N,...), neither empty: pieces of one size, or the last one is smaller. Each has at most
// 2^31 - 1 elements of either array and `most_bytes` of both, and begins at multiples of 16 bytes; as few images as
// begin there are a piece also where they are more.
std::vector<BatchPiece> batch_pieces(const TensorType& x, const TensorType& y, size_t most_bytes);

}  // namespace neon::cuda
