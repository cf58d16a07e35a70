// Kernels of oneDNN. The first that is asked for opens their module.
#include "backends/cpu/onednn_part.h"
#include "backends/graph/ops.h"

namespace neon::cpu {

namespace {

template <Maker OnednnPart::*kMaker>
std::unique_ptr<Kernel> make_by_onednn(const LoweredKernel& kernel, Context& context) {
  const TensorType& result = context.type(kernel.outputs[0]);
  if (result.dtype == DType::f64 || result.shape.elements() == 0) return nullptr;
  for (Value input : kernel.inputs)
    if (context.type(input).shape.elements() == 0) return nullptr;
  return (part<OnednnPart>().*kMaker)(kernel, context);
}

constexpr Maker kConvolution = make_by_onednn<&OnednnPart::convolution>;
const KernelRegistration onednn_kernels[] = {
    {ops::matmul, 0, make_by_onednn<&OnednnPart::matmul>},
    {ops::batch_matmul, 0, make_by_onednn<&OnednnPart::batch_matmul>},
    {ops::convolution, 0, kConvolution},
    {ops::convolution_data_gradient, 0, kConvolution},
    {ops::convolution_weight_gradient, 0, kConvolution},
};

}  // namespace

}  // namespace neon::cpu
