// Source of max pooling of f16 and bf16: a thread has neighbouring channels of a strip of windows, and compares numbers
// as integers that have their place within them (pool_strip.cuh).
#pragma once
#include "backends/cuda/source.h"

namespace neon::cuda {

// For op "pool_max". False if windows step over channels, if the number of channels is odd, or if places are no bytes.
bool is_pooled_by_strips(const LoweredKernel& kernel, SourceContext& context);
// Whether a kernel of max pooling may compute its operand: strips of images, whose rows are computed twice at most.
bool pools_computed(const LoweredKernel& pooling, const Graph& graph);
Source pool_strip_source(const LoweredKernel& kernel, SourceContext& context);

}  // namespace neon::cuda
