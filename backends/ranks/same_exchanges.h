// Ranks lower a step each for themselves, and their shares of a batch may differ in size.
#pragma once
#include "backends/graph/lower.h"
#include "backends/ranks.h"

namespace neon {

// Lowers the graph. Where exchanges of a rank would come in another order than those of rank 0, as their shares make
// other kernels, the rank takes rank 0's order. Throws unless all ranks then exchange the same arrays in one order. The
// ranks call this together, for programs that exchange something; `ranks` may be null.
Lowered lower_alike(const Graph& graph, const LowerOptions& options, Ranks* ranks);

}  // namespace neon
