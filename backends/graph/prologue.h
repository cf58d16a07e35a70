// Kernels that make what they read.
#pragma once
#include "backends/graph/lower.h"

namespace neon {

// If only one kernel reads the result of an elementwise kernel, and that reader makes patches, the reader makes each
// element as it reads it. So one kernel turns the data set's pixels into the channels of a first convolution. For
// kernels in order that have no memory yet.
void take_prologues(Lowered& lowered);

}  // namespace neon
