// matmul in f64, which oneDNN does not have.
#include "backends/cpu/packed_product.h"
#include "backends/graph/ops.h"

namespace neon::cpu {

namespace {

class F64Matmul : public Kernel {
 public:
  F64Matmul(const LoweredKernel& kernel, Context& context)
      : a_(context.slot(kernel.inputs[0])),
        b_(context.slot(kernel.inputs[1])),
        c_(context.slot(kernel.outputs[0])),
        bias_(kernel.bias() ? context.slot(kernel.bias()) : nullptr),
        relu_(kernel.relu()),
        ta_(kernel.attributes.integer("transpose_a")),
        tb_(kernel.attributes.integer("transpose_b")),
        rows_(context.type(kernel.outputs[0]).shape[0]),
        columns_(context.type(kernel.outputs[0]).shape[1]),
        inner_(context.type(kernel.inputs[0]).shape[ta_ ? 0 : 1]),
        product_(context.scratch, rows_, inner_, columns_, context.threads) {}

  void run(const Run&) override {
    const auto *a = static_cast<const double*>(*a_), *b = static_cast<const double*>(*b_);
    const auto* bias = bias_ ? static_cast<const double*>(*bias_) : nullptr;
    const auto left = ta_ ? LeftMatrix{a, 1, rows_} : LeftMatrix{a, inner_, 1};
    const auto right = tb_ ? RightMatrix{b, 1, inner_} : RightMatrix{b, columns_, 1};
    product_.run(left, right, BiasAndRelu{bias, relu_}, static_cast<double*>(*c_), columns_);
  }

  std::string implementation() const override { return "blocks"; }

 private:
  void **a_, **b_, **c_, **bias_;
  bool relu_, ta_, tb_;
  int64_t rows_, columns_, inner_;
  PackedProduct product_;
};

std::unique_ptr<Kernel> make_matmul_f64(const LoweredKernel& kernel, Context& context) {
  if (context.type(kernel.outputs[0]).dtype != DType::f64) return nullptr;
  return std::make_unique<F64Matmul>(kernel, context);
}

const KernelRegistration matmul_f64_kernel(ops::matmul, 10, make_matmul_f64);

}  // namespace

}  // namespace neon::cpu
