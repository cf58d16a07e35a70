// The order of a lowered program's kernels.
#pragma once
#include <set>

#include "backends/graph/lower.h"

namespace neon::test {

// A value that a kernel reads before it was written; -1 where there is none.
inline int read_too_early(const Lowered& lowered) {
  std::set<int> there;
  for (LeafKind leaf : {LeafKind::input, LeafKind::variable})
    for (Value value : lowered.graph.leaves(leaf)) there.insert(value.id);
  for (const LoweredKernel& kernel : lowered.kernels) {
    for (Value input : kernel.inputs)
      if (const Value stored = lowered.storage[size_t(input.id)]; !there.count(stored.id)) return input.id;
    for (Value output : kernel.outputs) there.insert(lowered.storage[size_t(output.id)].id);
  }
  return -1;
}

}  // namespace neon::test
