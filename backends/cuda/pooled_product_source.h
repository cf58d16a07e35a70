// Source of convolutions that pool, see pooled_product.cuh, and of pooling gradients that go on to filters, see
// pooled_gradient.cuh.
#pragma once
#include "backends/cuda/source.h"

namespace neon::cuda {

Source pooled_product_source(const LoweredKernel& kernel, SourceContext& context);
Source pooled_gradient_source(const LoweredKernel& kernel, SourceContext& context);

}  // namespace neon::cuda
