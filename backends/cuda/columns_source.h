// Source of columns.
#pragma once
#include "backends/cuda/source.h"

namespace neon::cuda {

Source columns_source(const LoweredKernel& kernel, SourceContext& context);

}  // namespace neon::cuda
