// batch_matmul through oneDNN.
#include "backends/cpu/amx.h"
#include "backends/cpu/batch_sizes.h"
#include "backends/cpu/onednn.h"
#include "backends/cpu/onednn_kernel.h"
#include "backends/cpu/onednn_part.h"

namespace neon::cpu {

namespace {

class OnednnBatchMatmul : public OnednnKernel {
 public:
  OnednnBatchMatmul(const LoweredKernel& kernel, Context& context, memory::data_type type)
      : OnednnKernel(kernel, context, type) {
    const BatchSizes s(kernel, context);
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

}  // namespace

std::unique_ptr<Kernel> make_onednn_batch_matmul(const LoweredKernel& kernel, Context& context) {
  const DType dtype = context.type(kernel.outputs[0]).dtype;
  if (dtype == DType::bf16 && has_bf16()) try {
      return std::make_unique<OnednnBatchMatmul>(kernel, context, dnnl::memory::data_type::bf16);
    } catch (const dnnl::error&) {  // it has no such product
    }
  return std::make_unique<OnednnBatchMatmul>(kernel, context, dnnl::memory::data_type::f32);
}

}  // namespace neon::cpu
