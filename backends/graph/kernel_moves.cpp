#include "backends/graph/kernel_moves.h"

#include "backends/graph/fuse.h"

namespace neon {

bool is_written_between(const Lowered& lowered, size_t from, size_t to) {
  for (size_t k = from + 1; k < to; ++k)
    for (Value output : lowered.kernels[k].outputs)
      for (Value input : lowered.kernels[from].inputs)
        if (viewed(lowered.graph, input) == viewed(lowered.graph, output)) return true;
  return false;
}

}  // namespace neon
