// matmul through oneDNN: f32 as it is, bf16 where the processor has it, otherwise 16-bit types by way of f32
// (oneDNN 2 has no f16 product). The bias is added while the product is stored. The relu is ours, in place: oneDNN's
// makes 0 of NaN, and a net with a broken weight would train on unnoticed. The primitive and its arguments are made
// once.
#include <omp.h>

#include <algorithm>
#include <oneapi/dnnl/dnnl.hpp>

#include "backends/cpu/kernel.h"
#include "backends/cpu/onednn.h"
#include "backends/elementwise/kernels.h"

namespace neon::cpu {

namespace {

using dnnl::memory;

constexpr int64_t kBlock = 16384;  // elements, of which a second thread takes the next

void relu_block(bf16* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const uint16_t bits = y[i].bits;
    y[i].bits = bits >= 0x8000u && bits <= 0xff80u ? uint16_t(0) : bits;  // -0 to -infinity
  }
}
void relu_block(float* y, int64_t n) {
  static const auto relu = elementwise::block_function<float>(elementwise::row("relu"));
  const float* inputs[] = {y};
  relu(inputs, y, n);
}

template <typename T>
void relu_in_place(T* y, int64_t n, int threads) {
#pragma omp parallel for num_threads(threads) schedule(static) if (n > kBlock)
  for (int64_t first = 0; first < n; first += kBlock) relu_block(y + first, std::min(kBlock, n - first));
}

// a (M,K) · b (K,N) -> c (M,N)
class OnednnMatmul : public Kernel {
 public:
  OnednnMatmul(const LoweredKernel& kernel, Context& context, memory::data_type type)
      : relu_(kernel.relu), threads_(context.threads), type_(type) {
    const TensorType &a = context.type(kernel.inputs[0]), &b = context.type(kernel.inputs[1]);
    const Shape& c = context.type(kernel.outputs[0]).shape;
    const bool ta = kernel.attributes.integer("transpose_a"), tb = kernel.attributes.integer("transpose_b");
    elements_ = c.elements();
    const int64_t inner = a.shape[ta ? 0 : 1];
    auto describe = [&](int64_t rows, int64_t columns, bool transposed) {
      return memory::desc({rows, columns}, type, transposed ? memory::format_tag::ba : memory::format_tag::ab);
    };
    const auto a_desc = describe(c[0], inner, ta), b_desc = describe(inner, c[1], tb),
               c_desc = describe(c[0], c[1], false);
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const memory::desc bias_desc({1, c[1]}, type, memory::format_tag::ab);
    const auto desc = kernel.bias ? dnnl::matmul::desc(a_desc, b_desc, bias_desc, c_desc)
                                  : dnnl::matmul::desc(a_desc, b_desc, c_desc);
    const dnnl::matmul::primitive_desc primitive(desc, attributes, onednn_engine());
    primitive_ = dnnl::matmul(primitive);
    name_ = "onednn:" + std::string(primitive.impl_info_str());
    scratch_ = Tensor(DType::u8, {int64_t(primitive.scratchpad_desc().get_size())});
    add(DNNL_ARG_SRC, a_desc, context.slot(kernel.inputs[0]), a.dtype, false);
    add(DNNL_ARG_WEIGHTS, b_desc, context.slot(kernel.inputs[1]), b.dtype, false);
    if (kernel.bias) add(DNNL_ARG_BIAS, bias_desc, context.slot(kernel.bias), a.dtype, false);
    add(DNNL_ARG_DST, c_desc, context.slot(kernel.outputs[0]), a.dtype, true);
    scratch_memory_ = memory(primitive.scratchpad_desc(), onednn_engine(), scratch_.data());
    arguments_.push_back({DNNL_ARG_SCRATCHPAD, scratch_memory_.get()});
  }

  void run(const Run&) override {
    for (Operand& o : operands_) {
      if (!o.converted.empty()) {
        if (!o.written)
          elementwise::load_function(o.dtype, DType::f32)(*o.slot, o.converted.data(), o.converted.elements());
      } else if (o.bound != *o.slot) {
        o.bound = *o.slot;
        o.array.set_data_handle(o.bound);
      }
    }
    onednn_check(
        dnnl_primitive_execute(primitive_.get(), onednn_stream().get(), int(arguments_.size()), arguments_.data()));
    if (relu_) rectify();
    for (Operand& o : operands_)
      if (o.written && !o.converted.empty())
        elementwise::store_function(DType::f32, o.dtype)(o.converted.data(), *o.slot, o.converted.elements());
  }

  std::string implementation() const override { return name_; }

 private:
  struct Operand {
    dnnl::memory array;
    void** slot;
    void* bound;
    Tensor converted;  // f32 copy of an f16 operand
    bool written;
    DType dtype;
  };

  void add(int argument, const memory::desc& desc, void** slot, DType dtype, bool written) {
    Operand operand{memory(desc, onednn_engine(), nullptr), slot, nullptr, {}, written, dtype};
    if (size_of(dtype) == 2 && desc.data_type() == memory::data_type::f32) {
      operand.converted = Tensor(DType::f32, {int64_t(desc.get_size() / 4)});
      operand.array.set_data_handle(operand.converted.data());
    }
    operands_.push_back(std::move(operand));
    arguments_.push_back({argument, operands_.back().array.get()});
  }

  void rectify() {
    const Operand& y = operands_.back();
    void* data = y.converted.empty() ? y.bound : const_cast<void*>(y.converted.data());
    if (type_ == memory::data_type::f32) relu_in_place(static_cast<float*>(data), elements_, threads_);
    else relu_in_place(static_cast<bf16*>(data), elements_, threads_);
  }

  bool relu_;
  int threads_;
  memory::data_type type_;
  int64_t elements_ = 0;  // of the result
  dnnl::matmul primitive_;
  std::string name_;
  Tensor scratch_;
  memory scratch_memory_;
  std::vector<Operand> operands_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

std::unique_ptr<Kernel> make(const LoweredKernel& kernel, Context& context) {
  const DType dtype = context.type(kernel.outputs[0]).dtype;
  if (dtype == DType::f64 || context.type(kernel.outputs[0]).shape.elements() == 0) return nullptr;
  if (context.type(kernel.inputs[0]).shape.elements() == 0) return nullptr;
  if (dtype == DType::bf16) try {
      return std::make_unique<OnednnMatmul>(kernel, context, memory::data_type::bf16);
    } catch (const dnnl::error&) {  // this processor has no bf16 product
    }
  return std::make_unique<OnednnMatmul>(kernel, context, memory::data_type::f32);
}

const KernelRegistration registration("matmul", 0, make);

}  // namespace

}  // namespace neon::cpu
