// Ranks lower a step each for themselves, and their shares of a batch may differ in size.
#pragma once
#include "backends/graph/lower.h"
#include "backends/ranks.h"

namespace neon {

// Throws unless the programs of all ranks exchange the same arrays in the same order. The ranks call this together, for
// programs that exchange something.
void check_same_exchanges(Ranks& ranks, const Lowered& lowered);

}  // namespace neon
