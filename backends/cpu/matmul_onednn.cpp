// matmul through oneDNN. The bias is added while the product is stored.
#include "backends/cpu/amx.h"
#include "backends/cpu/onednn.h"
#include "backends/cpu/onednn_kernel.h"
#include "backends/cpu/onednn_part.h"

namespace neon::cpu {

namespace {

// a (M,K) · b (K,N) -> c (M,N)
class OnednnMatmul : public OnednnKernel {
 public:
  OnednnMatmul(const LoweredKernel& kernel, Context& context, memory::data_type type)
      : OnednnKernel(kernel, context, type) {
    const Value a = kernel.inputs[0], b = kernel.inputs[1], c = kernel.outputs[0];
    const Shape& result = context.type(c).shape;
    const bool ta = kernel.attributes.integer("transpose_a"), tb = kernel.attributes.integer("transpose_b");
    const int64_t inner = context.type(a).shape[ta ? 0 : 1];
    auto describe = [&](int64_t rows, int64_t columns, bool transposed) {
      return memory::desc({rows, columns}, type, transposed ? memory::format_tag::ba : memory::format_tag::ab);
    };
    const auto a_desc = describe(result[0], inner, ta), b_desc = describe(inner, result[1], tb),
               c_desc = describe(result[0], result[1], false), bias_desc = describe(1, result[1], false);
    const auto desc = kernel.bias() ? dnnl::matmul::desc(a_desc, b_desc, bias_desc, c_desc)
                                    : dnnl::matmul::desc(a_desc, b_desc, c_desc);
    const dnnl::matmul::primitive_desc primitive(desc, attributes(), onednn_engine());
    set_primitive(dnnl::matmul(primitive), primitive);
    read(DNNL_ARG_SRC, a, a_desc, a_desc);
    read(DNNL_ARG_WEIGHTS, b, b_desc, b_desc);
    if (kernel.bias()) read(DNNL_ARG_BIAS, kernel.bias(), bias_desc, bias_desc);
    write(DNNL_ARG_DST, c, c_desc, c_desc);
  }
};

}  // namespace

std::unique_ptr<Kernel> make_onednn_matmul(const LoweredKernel& kernel, Context& context) {
  const DType dtype = context.type(kernel.outputs[0]).dtype;
  if (dtype == DType::bf16 && has_bf16()) try {
      return std::make_unique<OnednnMatmul>(kernel, context, dnnl::memory::data_type::bf16);
    } catch (const dnnl::error&) {  // it has no such product
    }
  try {
    return std::make_unique<OnednnMatmul>(kernel, context, dnnl::memory::data_type::f32);
  } catch (const dnnl::error& error) {  // it has none for (1,3) · (3,90000000), say
    if (error.status == dnnl_out_of_memory) throw;
    return nullptr;
  }
}

}  // namespace neon::cpu
