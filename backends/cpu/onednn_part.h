// Kernels of oneDNN, in a module of their own: runs on a GPU and verbs that compute nothing do without the library.
#pragma once
#include "backends/cpu/kernel.h"
#include "neon/core/part.h"

namespace neon::cpu {

// Makers of kernels for arrays that have elements, in types other than f64.
struct OnednnPart {
  static constexpr PartName kName = {"onednn", "computing on the CPU needs", "libdnnl-dev"};
  Maker matmul, batch_matmul, convolution;
};

// Functions of the module's files, for its table.
std::unique_ptr<Kernel> make_onednn_matmul(const LoweredKernel& kernel, Context& context);
std::unique_ptr<Kernel> make_onednn_batch_matmul(const LoweredKernel& kernel, Context& context);
std::unique_ptr<Kernel> make_onednn_convolution(const LoweredKernel& kernel, Context& context);
// Null unless it is faster than a convolution's gradient by filters.
std::unique_ptr<Kernel> make_pixel_gradient(const LoweredKernel& kernel, Context& context);

}  // namespace neon::cpu
