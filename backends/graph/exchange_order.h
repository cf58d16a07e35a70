// The order of exchanges, where ranks have to agree on one.
#pragma once
#include <span>

#include "backends/graph/lower.h"

namespace neon {

// The exchanges among the kernels, in the order in which they run: each by its number in the order of their nodes.
std::vector<int> order_of_exchanges(const Lowered& lowered);

// Lowers the graph with its exchanges in that order. An error of kind `failed` where some need others to run before.
Lowered lower_in_order(const Graph& graph, const LowerOptions& options, std::span<const int> exchanges);

}  // namespace neon
