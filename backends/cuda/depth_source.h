// Source of patches and depth_to_space.
#pragma once
#include "backends/cuda/source.h"

namespace neon::cuda {

bool is_depth_op(const std::string& op);
Source depth_source(const LoweredKernel& kernel, SourceContext& context);

}  // namespace neon::cuda
