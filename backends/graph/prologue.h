// Kernels that make what they read.
#pragma once
#include "backends/graph/lower.h"

namespace neon {

// If all kernels that read the result of an elementwise kernel make patches of it, or are those for which
// `computes_image` says so (lower_options.h), each of them makes each element as it reads it. So one kernel turns the
// data set's pixels into the channels of a first convolution. For kernels in order that have no memory yet.
void take_prologues(Lowered& lowered, const DeviceKernels& device);

}  // namespace neon
