// batch_matmul in f64, which oneDNN does not have, by blocks; and of arrays without elements.
#include <omp.h>

#include "backends/cpu/batch_sizes.h"
#include "backends/cpu/packed_product.h"
#include "backends/graph/ops.h"

namespace neon::cpu {

namespace {

class F64BatchMatmul : public Kernel {
 public:
  F64BatchMatmul(const LoweredKernel& kernel, Context& context)
      : sizes_(kernel, context),
        a_(context.slot(kernel.inputs[0])),
        b_(context.slot(kernel.inputs[1])),
        c_(context.slot(kernel.outputs[0])) {
    // Threads take a matrix each, or where matrices are few all of them the same one.
    const bool apart = sizes_.batch >= context.threads;
    for (int thread = 0; thread < (apart ? context.threads : 1); ++thread)
      products_.emplace_back(context.scratch, sizes_.rows, sizes_.inner, sizes_.columns, apart ? 1 : context.threads);
  }

  void run(const Run&) override {
    const int threads = int(products_.size());
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t i = 0; i < sizes_.batch; ++i) multiply(i, products_[size_t(omp_get_thread_num())]);
  }

  std::string implementation() const override { return "blocks"; }

 private:
  void multiply(int64_t i, PackedProduct& product) {
    const BatchSizes& s = sizes_;
    const double* const a = static_cast<const double*>(*a_) + i * s.rows * s.inner;
    const double* const b = static_cast<const double*>(*b_) + i * s.inner * s.columns;
    const auto left = s.ta ? LeftMatrix{a, 1, s.rows} : LeftMatrix{a, s.inner, 1};
    const auto right = s.tb ? RightMatrix{b, 1, s.inner} : RightMatrix{b, s.columns, 1};
    product.run(left, right, BiasAndRelu{}, static_cast<double*>(*c_) + i * s.rows * s.columns, s.columns);
  }

  const BatchSizes sizes_;
  void **a_, **b_, **c_;
  std::vector<PackedProduct> products_;  // of each thread
};

// A sum of nothing is 0, which every type has in the same bits.
class EmptyBatchMatmul : public Kernel {
 public:
  EmptyBatchMatmul(const LoweredKernel& kernel, Context& context)
      : c_(context.slot(kernel.outputs[0])),
        bytes_(size_t(context.type(kernel.outputs[0]).shape.elements()) *
               size_of(context.type(kernel.outputs[0]).dtype)) {}
  void run(const Run&) override { std::fill_n(static_cast<std::byte*>(*c_), bytes_, std::byte{}); }
  std::string implementation() const override { return "zeros"; }

 private:
  void** c_;
  size_t bytes_;
};

std::unique_ptr<Kernel> make_batch_matmul(const LoweredKernel& kernel, Context& context) {
  if (context.type(kernel.outputs[0]).dtype == DType::f64) return std::make_unique<F64BatchMatmul>(kernel, context);
  return std::make_unique<EmptyBatchMatmul>(kernel, context);
}

const KernelRegistration batch_matmul_kernel(ops::batch_matmul, 10, make_batch_matmul);

}  // namespace

}  // namespace neon::cpu
