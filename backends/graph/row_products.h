// Products inside the kernels that read them.
#pragma once
#include "backends/graph/lower.h"

namespace neon {

// A convolution that sees single pixels, or its gradient by the input, is a product of rows. If a fused kernel folds
// the result's columns and is the first to read it, the kernel makes the product itself, where the device can: the
// result is then not read again for the fold. For kernels in order that have no memory yet.
void take_row_products(Lowered& lowered, const DeviceKernels& kernels);

}  // namespace neon
