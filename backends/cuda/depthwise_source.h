// Source of convolutions whose channels have a filter each, and of their gradients (depthwise.cuh).
#pragma once
#include "backends/cuda/op_source.h"

namespace neon::cuda {

// Whether a kernel is such a convolution of images, or a gradient of one, in a form that these kernels have.
bool is_depthwise(const LoweredKernel& kernel, const Graph& graph);
// Whether a depthwise convolution, or its gradient by the filters, may compute its image by `code`, or by any if null:
// from one array, whose numbers are computed twice at most.
bool computes_depthwise_image(const LoweredKernel& kernel, const Graph& graph, const FusedKernel* code);
// The hook of lowering, DeviceKernels::makes_both_gradients: registers hold what both gradients need.
bool makes_both_gradients(const LoweredKernel& kernel, const Graph& graph, const DeviceKernels& kernels);
// The hook of lowering, DeviceKernels::folds_gradient: where the image is computed from the one array that the folds
// read beside the gradient.
bool folds_gradient(const LoweredKernel& kernel, const Graph& graph, const FusedKernel& code);

Source depthwise_source(const LoweredKernel& kernel, SourceContext& context);

}  // namespace neon::cuda
