// A build without cuDNN's headers: convolutions that are no products are generated kernels, which are slow.
#include "backends/cuda/convolution.h"

namespace neon::cuda {

void open_convolution_library(const std::function<std::shared_ptr<Device>()>&) {}

std::shared_ptr<ConvolutionPlans> make_convolution_plans(std::shared_ptr<Device>) { return nullptr; }

void plan_convolutions(const std::vector<const LoweredKernel*>&, const Graph&, const Device&, const LibraryOptions&) {}

std::unique_ptr<OperandsKernel> make_convolution(const LoweredKernel&, const Graph&, std::shared_ptr<Device>,
                                                 const LibraryOptions&) {
  return nullptr;
}

size_t convolution_workspace(const LoweredKernel&, const Graph&, bool, const Device&) { return 0; }
size_t convolution_version() { return 0; }

}  // namespace neon::cuda
