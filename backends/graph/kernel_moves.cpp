#include "backends/graph/kernel_moves.h"

#include "backends/graph/fuse.h"

namespace neon {

Value array_of(const Lowered& lowered, Value value) {
  const Value seen = viewed(lowered.graph, value);
  const Placement& placement = lowered.placements[size_t(seen.id)];
  return placement ? placement.whole : seen;
}

bool is_written_between(const Lowered& lowered, size_t from, size_t to) {
  for (size_t k = from + 1; k < to; ++k)
    for (Value output : lowered.kernels[k].outputs)
      for (Value input : lowered.kernels[from].inputs)
        if (array_of(lowered, input) == array_of(lowered, output)) return true;
  return false;
}

bool may_wait(const Lowered& lowered, size_t from, size_t to) {
  for (size_t k = from + 1; k < to; ++k)
    for (Value input : lowered.kernels[k].inputs)
      for (Value made : lowered.kernels[from].outputs)
        if (array_of(lowered, input) == array_of(lowered, made)) return false;
  return !is_written_between(lowered, from, to);
}

}  // namespace neon
