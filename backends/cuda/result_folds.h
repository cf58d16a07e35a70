// Folds of a convolution's result by the kernels that make it; see result_sums.cuh.
#pragma once
#include "backends/graph/lower.h"

namespace neon::cuda {

// The hook of lowering, DeviceKernels::folds_result: the sums of a batch norm, of a result that does not stay in the
// cache, by kernels that are faster than cuDNN's also without the clock.
bool folds_result(const LoweredKernel& kernel, const Graph& graph, const FusedKernel& code,
                  const DeviceKernels& kernels);

}  // namespace neon::cuda
