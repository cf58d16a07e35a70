// Source of the ops whose windows step over arrays with their channels last: pooling and its gradients, and the
// convolutions that cuDNN does not take. Neighbouring threads have neighbouring channels, several at once where that is
// one access; a gradient's thread collects what its element gets from all windows that see it, always in one order.
#pragma once
#include "backends/cuda/source.h"

namespace neon::cuda {

bool is_window_op(const std::string& op);
Source window_source(const LoweredKernel& kernel, SourceContext& context);

}  // namespace neon::cuda
