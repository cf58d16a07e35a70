// Source of region pooling. Neighbouring threads have neighbouring channels, several at once where that is one access;
// a gradient's thread collects what its element gets from all regions that see it, always in one order.
#pragma once
#include "backends/cuda/source.h"

namespace neon::cuda {

bool is_region_op(const std::string& op);
Source region_source(const LoweredKernel& kernel, SourceContext& context);

}  // namespace neon::cuda
