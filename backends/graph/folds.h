// The folds of a fused kernel that folds all axes but the last in one walk and goes on in a second, as batch norm's
// gradient does: code of their own, so that another kernel can make them.
#pragma once
#include "backends/graph/lower.h"

namespace neon {

// Whether a kernel folds all axes but the last of an array of this shape in one walk, and goes on in a second. Not if
// it writes what it may read: without folds no thread waits for those that read before it writes.
bool folds_first(const LoweredKernel& kernel, const Graph& graph, const Shape& shape);

// The code of the folds alone; each is stored as the value of the graph that it makes.
FusedKernel folds_of(const FusedKernel& code);

// Has the kernel read the folds in place of making them.
void read_folds(LoweredKernel& kernel, const FusedKernel& folds);

}  // namespace neon
