// Passes that make one graph from another.
#pragma once
#include "backends/graph/graph.h"

namespace neon {

// The same computation without nodes that no output or assignment needs, and with compound ops replaced by
// their definitions, save those that `keep` names (ops for which the device has a kernel of its own).
Graph expand(const Graph& graph, std::span<const std::string_view> keep = {});

}  // namespace neon
