// Source of crop and resample: a thread for each element of the batch.
#pragma once
#include "backends/cuda/source.h"

namespace neon::cuda {

bool is_image_op(const std::string& op);
Source image_source(const LoweredKernel& kernel, SourceContext& context);

}  // namespace neon::cuda
