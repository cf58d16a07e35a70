// The sums over ranks, by memory or messages of theirs. Alone, a program copies.
#include <cstring>

#include "backends/cpu/kernel.h"
#include "backends/graph/ops.h"
#include "backends/ranks.h"

namespace neon::cpu {

namespace {

class ExchangeKernel : public Kernel {
 public:
  ExchangeKernel(const LoweredKernel& kernel, Context& context)
      : ranks_(context.ranks), dtype_(context.type(kernel.inputs[0]).dtype) {
    for (size_t i = 0; i < kernel.inputs.size(); ++i) {
      from_.push_back(context.slot(kernel.inputs[i]));
      to_.push_back(context.slot(kernel.outputs[i]));
      arrays_.push_back({nullptr, nullptr, context.type(kernel.inputs[i]).shape.elements()});
    }
  }

  void run(const Run&) override {
    for (size_t i = 0; i < arrays_.size(); ++i) {
      arrays_[i].from = *from_[i], arrays_[i].to = *to_[i];
      const size_t bytes = size_t(arrays_[i].elements) * size_of(dtype_);
      if (!ranks_ && bytes > 0) std::memcpy(*to_[i], *from_[i], bytes);
    }
    if (ranks_) ranks_->sum(arrays_, dtype_);
  }
  std::string implementation() const override { return "exchange"; }

 private:
  Ranks* const ranks_;
  const DType dtype_;
  std::vector<void**> from_, to_;
  std::vector<Summand> arrays_;
};

std::unique_ptr<Kernel> make_exchange(const LoweredKernel& kernel, Context& context) {
  return std::make_unique<ExchangeKernel>(kernel, context);
}

const KernelRegistration exchange_kernel(ops::exchange, 0, make_exchange);

}  // namespace

}  // namespace neon::cpu
