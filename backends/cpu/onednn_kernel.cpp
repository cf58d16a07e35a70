#include "backends/cpu/onednn_kernel.h"

#include <omp.h>

#include <algorithm>

#include "backends/cpu/onednn.h"
#include "backends/elementwise/kernels.h"

namespace neon::cpu {

namespace {

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
#pragma omp parallel for num_threads(threads) schedule(static) if (n > kElementsOfOneThread)
  for (int64_t first = 0; first < n; first += kElementsOfOneThread)
    relu_block(y + first, std::min(kElementsOfOneThread, n - first));
}

void bind(dnnl::memory& memory, const void* data) {
  if (memory.get_data_handle() != data) memory.set_data_handle(const_cast<void*>(data));
}

void execute(const dnnl::primitive& primitive, const dnnl_exec_arg_t* arguments, size_t count) {
  onednn_check(dnnl_primitive_execute(primitive.get(), onednn_stream().get(), int(count), arguments));
}

}  // namespace

dnnl::primitive_attr OnednnKernel::attributes() {
  dnnl::primitive_attr out;
  out.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return out;
}

void OnednnKernel::set_primitive(const dnnl::primitive& primitive, const dnnl::primitive_desc_base& description) {
  primitive_ = primitive;
  name_ = "onednn:" + std::string(description.impl_info_str());
  if (dnnl_memory_t scratch = scratch_for(description)) arguments_.push_back({DNNL_ARG_SCRATCHPAD, scratch});
}

// Each primitive has scratch memory of its own. Some of oneDNN's primitives in bf16 read numbers there that they have
// not written, which must be 0.
dnnl_memory_t OnednnKernel::scratch_for(const dnnl::primitive_desc_base& description) {
  const memory::desc wanted = description.scratchpad_desc();
  if (wanted.get_size() == 0) return nullptr;
  Tensor bytes(DType::u8, {int64_t(wanted.get_size())});
  memory place(wanted, onednn_engine(), bytes.data());
  scratch_.emplace_back(std::move(bytes), std::move(place));
  return scratch_.back().second.get();
}

void OnednnKernel::add(int argument, Value value, const memory::desc& own, const memory::desc& wanted, bool written) {
  const DType compute = type_ == memory::data_type::bf16 ? DType::bf16 : DType::f32;
  const memory array(own, onednn_engine(), nullptr);
  operands_.push_back(std::unique_ptr<Argument>(
      new Argument{Operand(context_, value, compute), array, array, 0, {}, {}, {}, 0, written}));
  Argument& added = *operands_.back();
  if (own != wanted) add_reorder(added, wanted, !written && context_.is_fixed(value));
  arguments_.push_back({argument, added.wanted.get()});
}

void OnednnKernel::add_reorder(Argument& argument, const memory::desc& wanted, bool fixed) {
  if (fixed) argument.kept = Tensor(DType::u8, {int64_t(wanted.get_size())});
  else argument.reordered = context_.scratch.take(wanted.get_size());
  argument.wanted = memory(wanted, onednn_engine(), nullptr);
  const memory &from = argument.written ? argument.wanted : argument.own,
               &to = argument.written ? argument.own : argument.wanted;
  const dnnl::reorder::primitive_desc description(onednn_engine(), from.get_desc(), onednn_engine(), to.get_desc(),
                                                  attributes());
  argument.reorder = dnnl::reorder(description);
  argument.reordering[0] = {DNNL_ARG_FROM, from.get()};
  argument.reordering[1] = {DNNL_ARG_TO, to.get()};
  argument.reordering_count = 2;
  if (dnnl_memory_t scratch = scratch_for(description))
    argument.reordering[argument.reordering_count++] = {DNNL_ARG_SCRATCHPAD, scratch};
}

void OnednnKernel::run(const Run& run) {
  for (auto& o : operands_) {
    const bool kept = !o->kept.empty();
    if (kept && !run.news) continue;
    if (o->reordering_count) bind(o->wanted, kept ? o->kept.data() : context_.scratch.at(o->reordered));
    bind(o->own, o->written ? o->array.place() : o->array.load(threads_));
    if (!o->written && o->reordering_count) execute(o->reorder, o->reordering, size_t(o->reordering_count));
  }
  execute(primitive_, arguments_.data(), arguments_.size());
  for (auto& o : operands_) {
    if (!o->written) continue;
    if (o->reordering_count) execute(o->reorder, o->reordering, size_t(o->reordering_count));
    const int64_t elements = o->array.shape().elements();
    if (relu_ && type_ == memory::data_type::f32)
      relu_in_place(static_cast<float*>(o->array.place()), elements, threads_);
    else if (relu_) relu_in_place(static_cast<bf16*>(o->array.place()), elements, threads_);
    o->array.store(threads_);
  }
}

}  // namespace neon::cpu
