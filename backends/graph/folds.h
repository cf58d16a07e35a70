// The folds of a fused kernel that folds all axes but the last in one walk and goes on in a second, as batch norm's
// gradient does: code of their own, so that another kernel can make them.
#pragma once
#include <optional>

#include "backends/graph/lower.h"

namespace neon {

// Whether a kernel folds all axes but the last of an array of this shape in one walk, before all else. Not if it writes
// what it may read: without folds no thread waits for those that read before it writes.
bool folds_first(const LoweredKernel& kernel, const Graph& graph, const Shape& shape);

// Whether it makes numbers of that shape, for which it walks once more.
bool goes_on(const FusedKernel& code);

// The code of the folds alone; each is stored as the value of the graph that it makes.
FusedKernel folds_of(const FusedKernel& code);

// Has the kernel read the folds in place of making them. Numbers of the last axis alone may remain, or
// nothing: the kernel then makes nothing, and is to be left out.
void read_folds(LoweredKernel& kernel, const FusedKernel& folds);

// Sums of x - x₀ and of its squares over all axes but the last, x₀ being the first row: the folds of batch norm.
struct ShiftedSums {
  Value sum, squares;
};
// None where the code of folds has others, or makes others, too.
std::optional<ShiftedSums> shifted_sums(const FusedKernel& folds, Value x);

}  // namespace neon
