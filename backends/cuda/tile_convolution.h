// Convolutions and their gradients by the input in tiles, see tile_convolution.cuh: the kernel with its arrays.
#pragma once
#include "backends/cuda/library_kernel.h"
#include "backends/cuda/tile_convolution_plan.h"

namespace neon::cuda {

constexpr const char* kTiles = "tiles";

std::unique_ptr<OperandsKernel> make_tile_convolution(const TileConvolution& of, std::shared_ptr<Device> device,
                                                      ColdStart* cold);

}  // namespace neon::cuda
