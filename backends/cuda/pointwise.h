// Convolutions by the library that does them best. Where filters see a single pixel it is a matrix product, which
// cuBLASLt does, too, and other than cuDNN also into the rows of a larger array. A gradient of data in exact f32 may be
// a convolution of filters turned around (turned.h). In 16 bits neon has kernels of its own (tile_convolution.cuh,
// tile_filters.cuh).
#pragma once
#include "backends/cuda/library_kernel.h"

namespace neon::cuda {

// Has plans made for what make_convolution_or_product() will ask cuDNN for.
void prepare_convolutions(const std::vector<const LoweredKernel*>& kernels, const Lowered& lowered,
                          const Device& device, const LibraryOptions& options);

// A convolution or a gradient of one; null where no library takes it. If the clock may choose, neon takes the faster of
// two kernels and remembers it on disk. Otherwise neon takes cuDNN's own, except where that was seen to be slower: in
// exact f32, and by filters of many places in 16 bits.
std::unique_ptr<OperandsKernel> make_convolution_or_product(const LoweredKernel& kernel, const Lowered& lowered,
                                                            std::shared_ptr<Device> device,
                                                            const LibraryOptions& options);

}  // namespace neon::cuda
