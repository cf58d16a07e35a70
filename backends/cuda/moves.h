// Source of the ops that are no fused kernels: transpose, concat, slice, scatter_add, reductions over axes that neither
// lead nor trail, histograms, and matrix products that are small or that cuBLASLt does not take.
#pragma once
#include "backends/cuda/source.h"

namespace neon::cuda {

// Whether a library is asked for the kernel: a product that is not better done by one from here, a convolution; of
// whole arrays, not of sequences. What it then refuses is generated, too.
bool asks_library(const LoweredKernel& kernel, const SourceContext& context);

// One kernel; throws ErrorKind::failed for an op that has none on the GPU.
Source op_source(const LoweredKernel& kernel, SourceContext& context);

}  // namespace neon::cuda
