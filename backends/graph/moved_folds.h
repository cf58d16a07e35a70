// Folds of what a kernel makes, done where it is made.
#pragma once
#include "backends/graph/lower.h"

namespace neon {

// Batch norm's gradient folds the gradient that a convolution behind it makes, and then reads all again. Where the
// device's kernel of that convolution's gradients can make these folds, batch norm's kernel reads once. For kernels in
// order that have no memory yet.
void move_folds(Lowered& lowered, const DeviceKernels& device);

}  // namespace neon
