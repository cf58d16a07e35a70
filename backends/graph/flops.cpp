#include "backends/graph/flops.h"

#include <algorithm>

namespace neon {

double flops_along(const Graph& graph, const Node& node) { return double(graph.shape(node.outputs[0]).elements()); }

double flops_of(const Graph& graph, int first, int end) {
  double own = 0, along = 0;
  for (int index = first; index < end; ++index) {
    const Node& node = graph.node(index);
    if (node.op->flops == flops_along) along = std::max(along, flops_along(graph, node));
    else if (node.op->flops) own += node.op->flops(graph, node);
  }
  return own > 0 ? own : along;
}

}  // namespace neon
