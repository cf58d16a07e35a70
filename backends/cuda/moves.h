// Source of the ops that are no fused kernels: transpose, concat, slice, scatter_add, reductions over axes that neither
// lead nor trail, histograms, and matrix products that are small or that cuBLASLt does not take.
#pragma once
#include "backends/cuda/source.h"

namespace neon::cuda {

// Whether a product is better done by one kernel from here.
bool is_small_product(const LoweredKernel& kernel, const Graph& graph);

// One kernel; throws ErrorKind::failed for an op that has none on the GPU.
Source op_source(const LoweredKernel& kernel, SourceContext& context);

}  // namespace neon::cuda
