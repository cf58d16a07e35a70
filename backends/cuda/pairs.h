// Convolutions of few channels that step by two, and their gradients by the filters: the kernels of pairs_plan.h with
// their arrays.
#pragma once
#include "backends/cuda/library_kernel.h"
#include "backends/cuda/pairs_plan.h"

namespace neon::cuda {

std::unique_ptr<OperandsKernel> make_pairs(const PairTiles& of, std::shared_ptr<Device> device, ColdStart* cold);

}  // namespace neon::cuda
