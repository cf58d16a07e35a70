// A build without cuDNN's headers: neon's own kernels do attention.
#include "backends/cuda/attention_kernel.h"

namespace neon::cuda {

std::unique_ptr<LibraryKernel> make_attention(const LoweredKernel&, const Lowered&, std::shared_ptr<Device>,
                                              const LibraryOptions&) {
  return nullptr;
}

size_t attention_workspace(const LoweredKernel&, const Lowered&) { return 0; }

}  // namespace neon::cuda
