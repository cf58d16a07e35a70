// batch_matmul in loops, for f64 and for arrays without elements.
#include <omp.h>

#include "backends/cpu/batch_sizes.h"
#include "backends/graph/ops.h"

namespace neon::cpu {

namespace {

// In the arithmetic of R. Each result is summed in one order.
template <typename R>
class LoopBatchMatmul : public Kernel {
 public:
  LoopBatchMatmul(const LoweredKernel& kernel, Context& context)
      : sizes_(kernel, context),
        a_(context.slot(kernel.inputs[0])),
        b_(context.slot(kernel.inputs[1])),
        c_(context.slot(kernel.outputs[0])),
        threads_(context.threads) {}

  void run(const Run&) override {
    const BatchSizes& s = sizes_;
#pragma omp parallel for num_threads(threads_) schedule(static) if (s.batch * s.rows * s.columns * s.inner > 65536)
    for (int64_t i = 0; i < s.batch; ++i)
      multiply(static_cast<const R*>(*a_) + i * s.rows * s.inner, static_cast<const R*>(*b_) + i * s.inner * s.columns,
               static_cast<R*>(*c_) + i * s.rows * s.columns);
  }

  std::string implementation() const override { return "loops"; }

 private:
  void multiply(const R* a, const R* b, R* c) const {
    const BatchSizes& s = sizes_;
    std::fill_n(c, s.rows * s.columns, R(0));
    for (int64_t m = 0; m < s.rows; ++m)
      for (int64_t k = 0; k < s.inner; ++k) {
        const R factor = s.ta ? a[k * s.rows + m] : a[m * s.inner + k];
        for (int64_t n = 0; n < s.columns; ++n)
          c[m * s.columns + n] += factor * (s.tb ? b[n * s.inner + k] : b[k * s.columns + n]);
      }
  }

  const BatchSizes sizes_;
  void **a_, **b_, **c_;
  int threads_;
};

// Sums of nothing are 0, which 16-bit types have in the same bits.
std::unique_ptr<Kernel> make_loops(const LoweredKernel& kernel, Context& context) {
  switch (context.type(kernel.outputs[0]).dtype) {
    case DType::f64: return std::make_unique<LoopBatchMatmul<double>>(kernel, context);
    case DType::f32: return std::make_unique<LoopBatchMatmul<float>>(kernel, context);
    default: return std::make_unique<LoopBatchMatmul<uint16_t>>(kernel, context);
  }
}

const KernelRegistration batch_matmul_loops_kernel(ops::batch_matmul, 10, make_loops);

}  // namespace

}  // namespace neon::cpu
