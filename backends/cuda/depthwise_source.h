// Source of convolutions whose channels have a filter each, and of their gradients (depthwise.cuh).
#pragma once
#include "backends/cuda/op_source.h"

namespace neon::cuda {

// Whether a kernel is such a convolution of images, or a gradient of one, in a form that these kernels have.
bool is_depthwise(const LoweredKernel& kernel, const SourceContext& context);

Source depthwise_source(const LoweredKernel& kernel, SourceContext& context);

}  // namespace neon::cuda
