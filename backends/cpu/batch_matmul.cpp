// batch_matmul on the CPU: through oneDNN, and in loops for f64 and for arrays without elements.
#include <omp.h>

#include "backends/cpu/amx.h"
#include "backends/cpu/onednn.h"
#include "backends/cpu/onednn_kernel.h"
#include "backends/graph/ops.h"

namespace neon::cpu {

namespace {

// a (B,M,K) · b (B,K,N) -> c (B,M,N)
struct Sizes {
  Sizes(const LoweredKernel& kernel, const Context& context)
      : ta(kernel.attributes.integer("transpose_a")), tb(kernel.attributes.integer("transpose_b")) {
    const Shape &a = context.type(kernel.inputs[0]).shape, &c = context.type(kernel.outputs[0]).shape;
    batch = c[0], rows = c[1], columns = c[2], inner = a[ta ? 1 : 2];
  }
  bool ta, tb;
  int64_t batch, rows, columns, inner;
};

class OnednnBatchMatmul : public OnednnKernel {
 public:
  OnednnBatchMatmul(const LoweredKernel& kernel, Context& context, memory::data_type type)
      : OnednnKernel(kernel, context, type) {
    const Sizes s(kernel, context);
    auto describe = [&](int64_t rows, int64_t columns, bool exchanged) {
      return memory::desc({s.batch, rows, columns}, type,
                          exchanged ? memory::format_tag::acb : memory::format_tag::abc);
    };
    const auto a = describe(s.rows, s.inner, s.ta), b = describe(s.inner, s.columns, s.tb),
               c = describe(s.rows, s.columns, false);
    const dnnl::matmul::primitive_desc primitive(dnnl::matmul::desc(a, b, c), attributes(), onednn_engine());
    set_primitive(dnnl::matmul(primitive), primitive);
    read(DNNL_ARG_SRC, kernel.inputs[0], a, a);
    read(DNNL_ARG_WEIGHTS, kernel.inputs[1], b, b);
    write(DNNL_ARG_DST, kernel.outputs[0], c, c);
  }
};

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
    const Sizes& s = sizes_;
#pragma omp parallel for num_threads(threads_) schedule(static) if (s.batch * s.rows * s.columns * s.inner > 65536)
    for (int64_t i = 0; i < s.batch; ++i)
      multiply(static_cast<const R*>(*a_) + i * s.rows * s.inner, static_cast<const R*>(*b_) + i * s.inner * s.columns,
               static_cast<R*>(*c_) + i * s.rows * s.columns);
  }

  std::string implementation() const override { return "loops"; }

 private:
  void multiply(const R* a, const R* b, R* c) const {
    const Sizes& s = sizes_;
    std::fill_n(c, s.rows * s.columns, R(0));
    for (int64_t m = 0; m < s.rows; ++m)
      for (int64_t k = 0; k < s.inner; ++k) {
        const R factor = s.ta ? a[k * s.rows + m] : a[m * s.inner + k];
        for (int64_t n = 0; n < s.columns; ++n)
          c[m * s.columns + n] += factor * (s.tb ? b[n * s.inner + k] : b[k * s.columns + n]);
      }
  }

  const Sizes sizes_;
  void **a_, **b_, **c_;
  int threads_;
};

std::unique_ptr<Kernel> make_onednn(const LoweredKernel& kernel, Context& context) {
  const DType dtype = context.type(kernel.outputs[0]).dtype;
  if (dtype == DType::f64 || context.type(kernel.outputs[0]).shape.elements() == 0) return nullptr;
  if (context.type(kernel.inputs[0]).shape.elements() == 0) return nullptr;
  if (dtype == DType::bf16 && has_bf16()) try {
      return std::make_unique<OnednnBatchMatmul>(kernel, context, dnnl::memory::data_type::bf16);
    } catch (const dnnl::error&) {  // it has no such product
    }
  return std::make_unique<OnednnBatchMatmul>(kernel, context, dnnl::memory::data_type::f32);
}

// Sums of nothing are 0, which 16-bit types have in the same bits.
std::unique_ptr<Kernel> make_loops(const LoweredKernel& kernel, Context& context) {
  switch (context.type(kernel.outputs[0]).dtype) {
    case DType::f64: return std::make_unique<LoopBatchMatmul<double>>(kernel, context);
    case DType::f32: return std::make_unique<LoopBatchMatmul<float>>(kernel, context);
    default: return std::make_unique<LoopBatchMatmul<uint16_t>>(kernel, context);
  }
}

const KernelRegistration batch_matmul_kernels[] = {{ops::batch_matmul, 0, make_onednn},
                                                   {ops::batch_matmul, 10, make_loops}};

}  // namespace

}  // namespace neon::cpu
