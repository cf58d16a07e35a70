// Source of convolutions whose channels have a filter each, and of their gradients (depthwise.cuh).
#pragma once
#include "backends/cuda/op_source.h"

namespace neon::cuda {

// Whether a kernel is such a convolution of images, or a gradient of one, in a form that these kernels have.
bool is_depthwise(const LoweredKernel& kernel, const Graph& graph);
// The hook of lowering, DeviceKernels::makes_both_gradients: registers hold what both gradients need.
bool makes_both_gradients(const LoweredKernel& kernel, const Graph& graph, const DeviceKernels& kernels);

Source depthwise_source(const LoweredKernel& kernel, SourceContext& context);

}  // namespace neon::cuda
