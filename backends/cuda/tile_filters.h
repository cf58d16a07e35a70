// The gradient of a convolution's filters in tiles, see tile_filters.cuh: the kernel with its arrays.
#pragma once
#include "backends/cuda/library_kernel.h"
#include "backends/cuda/tile_filters_plan.h"

namespace neon::cuda {

std::unique_ptr<OperandsKernel> make_tile_filters(const TileFilters& of, std::shared_ptr<Device> device,
                                                  ColdStart* cold);

}  // namespace neon::cuda
