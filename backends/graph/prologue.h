// Kernels that make what they read.
#pragma once
#include "backends/graph/lower.h"

namespace neon {

// If only one kernel reads the result of an elementwise kernel, and that reader makes patches, or is max pooling for
// which `pools_operand` says so (lower_options.h), the reader makes each element as it reads it. So one kernel turns
// the data set's pixels into the channels of a first convolution. For kernels in order that have no memory yet.
void take_prologues(Lowered& lowered, bool (*pools_operand)(const Graph& graph, const Node& pooling));

}  // namespace neon
