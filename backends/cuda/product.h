// Matrix products by cuBLASLt. The heuristic's first algorithm is taken, the same each time; or, where the clock may
// choose, the fastest of its first few, which is remembered on disk.
#pragma once
#include "backends/cuda/library_kernel.h"

namespace neon::cuda {

// Null when cuBLASLt does not take the case: an empty array, types that differ.
std::unique_ptr<LibraryKernel> make_product(const LoweredKernel& kernel, const Graph& graph,
                                            std::shared_ptr<Device> device, const LibraryOptions& options);

// Bytes that every product may use.
size_t product_workspace();

}  // namespace neon::cuda
