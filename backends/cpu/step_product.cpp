#include "backends/cpu/step_product.h"

#include <omp.h>

#include "backends/cpu/onednn.h"

namespace neon::cpu {

namespace {

using memory = dnnl::memory;

class OnednnStepProduct : public StepProduct<float> {
 public:
  explicit OnednnStepProduct(const StepSizes& sizes) {
    constexpr auto type = memory::data_type::f32;
    const memory::desc a({sizes.rows, sizes.inner}, type, memory::format_tag::ab),
        w({sizes.inner, sizes.columns}, type, sizes.transposed ? memory::format_tag::ba : memory::format_tag::ab),
        any({sizes.inner, sizes.columns}, type, memory::format_tag::any),
        out({sizes.rows, sizes.columns}, type, memory::format_tag::ab);
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::matmul::primitive_desc description(dnnl::matmul::desc(a, any, out), attributes, onednn_engine());
    product_ = dnnl::matmul(description);
    given_ = memory(w, onednn_engine(), nullptr);
    packs_ = description.weights_desc() != w;
    if (packs_) {
      packed_ = memory_of(description.weights_desc(), packed_bytes_);
      pack_ = dnnl::reorder(given_, packed_);
    }
    a_ = memory(a, onednn_engine(), nullptr);
    out_ = memory(out, onednn_engine(), nullptr);
    arguments_ = {{DNNL_ARG_SRC, a_.get()},
                  {DNNL_ARG_WEIGHTS, packs_ ? packed_.get() : given_.get()},
                  {DNNL_ARG_DST, out_.get()}};
    if (description.scratchpad_desc().get_size() == 0) return;
    scratch_ = memory_of(description.scratchpad_desc(), scratch_bytes_);
    arguments_.push_back({DNNL_ARG_SCRATCHPAD, scratch_.get()});
  }

  void take(const float* w) override {
    given_.set_data_handle(const_cast<float*>(w));
    if (!packs_) return;
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, given_.get()}, {DNNL_ARG_TO, packed_.get()}};
    onednn_check(dnnl_primitive_execute(pack_.get(), onednn_stream().get(), 2, arguments));
  }

  void multiply(const float* a, float* out) override {
    a_.set_data_handle(const_cast<float*>(a));
    out_.set_data_handle(out);
    onednn_check(
        dnnl_primitive_execute(product_.get(), onednn_stream().get(), int(arguments_.size()), arguments_.data()));
  }

 private:
  static memory memory_of(const memory::desc& desc, Tensor& bytes) {
    bytes = Tensor(DType::u8, {int64_t(desc.get_size())});
    return memory(desc, onednn_engine(), bytes.data());
  }

  dnnl::primitive product_, pack_;
  bool packs_ = false;
  Tensor packed_bytes_, scratch_bytes_;
  memory given_, packed_, scratch_, a_, out_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

template <typename R>
class LoopStepProduct : public StepProduct<R> {
 public:
  LoopStepProduct(const StepSizes& sizes, int threads)
      : sizes_(sizes), threads_(threads), w_(dtype_of<R>(), {sizes.inner, sizes.columns}) {}

  void take(const R* w) override {
    const auto [rows, inner, columns, transposed] = sizes_;
    R* to = static_cast<R*>(w_.data());
    for (int64_t k = 0; k < inner; ++k)
      for (int64_t m = 0; m < columns; ++m) to[k * columns + m] = w[transposed ? m * inner + k : k * columns + m];
  }

  void multiply(const R* a, R* out) override {
    const int64_t inner = sizes_.inner, columns = sizes_.columns;
    const R* w = static_cast<const R*>(w_.data());
#pragma omp parallel for num_threads(threads_) schedule(static) if (sizes_.rows * columns * inner > 65536)
    for (int64_t n = 0; n < sizes_.rows; ++n) {
      R* row = out + n * columns;
      std::fill_n(row, columns, R(0));
      for (int64_t k = 0; k < inner; ++k)
        for (int64_t m = 0; m < columns; ++m) row[m] += a[n * inner + k] * w[k * columns + m];
    }
  }

 private:
  const StepSizes sizes_;
  const int threads_;
  Tensor w_;
};

}  // namespace

template <>
std::unique_ptr<StepProduct<double>> make_step_product<double>(const StepSizes& sizes, int threads) {
  return std::make_unique<LoopStepProduct<double>>(sizes, threads);
}

template <>
std::unique_ptr<StepProduct<float>> make_step_product<float>(const StepSizes& sizes, int threads) {
  try {
    return std::make_unique<OnednnStepProduct>(sizes);
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_out_of_memory) throw;
    return std::make_unique<LoopStepProduct<float>>(sizes, threads);
  }
}

}  // namespace neon::cpu
