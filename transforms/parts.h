// Parts of arrays, and arrays side by side.
#pragma once
#include <vector>

#include "backends/graph/expression.h"
#include "backends/graph/ops.h"

namespace neon {

// Elements `first` to `first` + `count` along an axis.
inline Expr part(Expr x, int64_t axis, int64_t first, int64_t count = 1) {
  return {x.graph(), x.graph().add(ops::slice, {x}, {{"axis", axis}, {"first", first}, {"count", count}})};
}

// Arrays of one shape, the axis aside, one behind the other along it; of a single array that one.
inline Expr beside(const std::vector<Expr>& parts, int64_t axis) {
  if (parts.size() == 1) return parts[0];
  Graph& graph = parts[0].graph();
  return {graph, graph.add(ops::concat, {parts.begin(), parts.end()}, {{"axis", axis}})};
}

}  // namespace neon
