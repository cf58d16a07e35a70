// Folds of what a kernel makes, done where it is made.
#pragma once
#include "backends/graph/lower.h"

namespace neon {

// Batch norm folds what a convolution makes, and then reads all again; so does batch norm's gradient with the gradient
// that a convolution behind it makes. Where the device's kernel of the convolution, or of its gradients, can make these
// folds, batch norm's kernel reads once. For kernels in order that have no memory yet.
void move_folds(Lowered& lowered, const DeviceKernels& device);

}  // namespace neon
