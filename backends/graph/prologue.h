// Kernels that make what they read.
#pragma once
#include "backends/graph/lower.h"

namespace neon {

// What alone reads the result of an elementwise kernel, and is one of patches, makes each element as it reads it: so a
// batch goes from the data set's pixels to the channels of a first convolution at once. For kernels in order that have
// no memory yet.
void take_prologues(Lowered& lowered);

}  // namespace neon
