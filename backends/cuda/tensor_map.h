// Descriptions of arrays for the copies of tensor_copies.cuh, and code that equal kernels share.
#pragma once
#include <initializer_list>

#include "backends/cuda/cold_start.h"
#include "backends/cuda/driver.h"
#include "backends/cuda/tile_convolution_plan.h"

namespace neon::cuda {

// Equal kernels of any program share their code.
std::shared_ptr<const LoadedCode> code_of(const std::string& source, const std::shared_ptr<Device>& device,
                                          ColdStart* cold);

// The code's kernel, which may take the most of shared memory: kernels of other sizes share the code.
CUfunction tile_function(const LoadedCode& code);

// Describes an array whose last axis comes first here and is dense, the other strides in bytes, and boxes of it. A row
// of a box takes 32, 64 or 128 bytes of shared memory, which are permuted; others lie one after the other.
void describe(TileTables::Map& map, DType dtype, const void* address, std::initializer_list<int64_t> sizes,
              std::initializer_list<int64_t> strides, std::initializer_list<int64_t> box);

// Launches the kernel "add_slices" of slices.cuh: 16-bit numbers of `filters` become the sums of what the slices have.
void add_slices(CUfunction kernel, const Device& device, void* slices, void* filters, int64_t numbers, int64_t count);

// Launches the kernel "fold_parts" of result_sums.cuh: `sums` and `squares` become those of `parts` of each map.
void fold_parts(CUfunction kernel, const Device& device, const void* parts, int64_t of_map, const void* results,
                int64_t maps, void* sums, void* squares);

// Planes of an array (N,H,W,C), in boxes of rows by columns by channels.
void describe_planes(TileTables::Map* maps, const std::vector<Plane>& planes, DType dtype, const void* array,
                     const Shape& shape, int64_t rows, int64_t columns, int64_t channels);

}  // namespace neon::cuda
