// Attention and its gradient by cuDNN, whose kernels multiply by Hopper's own instructions. The sums of its gradient
// depend on the order in which blocks run, so only programs that the clock may choose for have them.
#pragma once
#include "backends/cuda/library_kernel.h"

namespace neon::cuda {

// Arrays: the kernel's inputs, then its outputs. Null where the clock may not choose, and where the library lacks the
// case or is not there.
std::unique_ptr<LibraryKernel> make_attention(const LoweredKernel& kernel, const Lowered& lowered,
                                              std::shared_ptr<Device> device, const LibraryOptions& options);

// Bytes that such a kernel may use at most to work in.
size_t attention_workspace(const LoweredKernel& kernel, const Lowered& lowered);

}  // namespace neon::cuda
