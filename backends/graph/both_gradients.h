// Both gradients of a convolution in one kernel.
#pragma once
#include "backends/graph/lower.h"

namespace neon {

// A convolution's gradients by the input and by the filters read the same gradient of its results. One kernel reads
// that gradient once, where the device has a kernel for both. For kernels in order that have no memory yet.
void take_both_gradients(Lowered& lowered, const DeviceKernels& kernels);

}  // namespace neon
