#include "backends/graph/moved_folds.h"

#include <algorithm>

#include "backends/graph/folds.h"
#include "backends/graph/kernel_moves.h"

namespace neon {

namespace {

class MovedFolds {
 public:
  MovedFolds(Lowered& lowered, const DeviceKernels& device)
      : lowered_(lowered), graph_(lowered.graph), kernels_(lowered.kernels), device_(device) {}

  void run() {
    for (size_t k = 0; k < kernels_.size(); ++k)
      if (kernels_[k].takes(Attachment::Kind::filters) && kernels_[k].convolution() == ConvolutionKind::by_input)
        move_to(k);
  }

 private:
  void move_to(size_t k) {
    const Value made = kernels_[k].outputs[0];
    for (size_t f = k + 1; f < kernels_.size(); ++f) {
      if (!std::ranges::count(kernels_[f].inputs, made) || !folds_first(kernels_[f], graph_, graph_.shape(made)))
        continue;
      const auto code = std::make_shared<const FusedKernel>(folds_of(*kernels_[f].fused));
      if (code->segments[0].stores.empty() || !reads(*code, made) || is_made_later(*code, k, f) ||
          !device_.folds_gradient(kernels_[k], graph_, *code))
        continue;
      give(kernels_[k], code);
      read_folds(kernels_[f], *code);
      return;
    }
  }

  static bool reads(const FusedKernel& code, Value value) {
    return std::ranges::any_of(code.segments[0].body, [&](const Instruction& i) { return i.value == value; });
  }

  // Whether kernels k + 1 up to f make or change something that the code reads.
  bool is_made_later(const FusedKernel& code, size_t k, size_t f) const {
    for (size_t between = k + 1; between < f; ++between)
      for (Value output : kernels_[between].outputs)
        for (const Instruction& i : code.segments[0].body)
          if ((i.value && array_of(lowered_, i.value) == array_of(lowered_, output)) ||
              (i.index && array_of(lowered_, i.index) == array_of(lowered_, output)))
            return true;
    return false;
  }

  static void give(LoweredKernel& maker, const std::shared_ptr<const FusedKernel>& code) {
    for (const Instruction& i : code->segments[0].body)
      for (Value input : {i.value, i.index})
        if (input && input != maker.outputs[0] && !std::ranges::count(maker.inputs, input))
          maker.inputs.push_back(input);
    for (const Store& store : code->segments[0].stores) maker.outputs.push_back(store.value);
    maker.attachments.push_back({.kind = Attachment::Kind::folds, .code = code});
  }

  Lowered& lowered_;
  const Graph& graph_;
  std::vector<LoweredKernel>& kernels_;
  const DeviceKernels& device_;
};

}  // namespace

void move_folds(Lowered& lowered, const DeviceKernels& device) {
  if (device.folds_gradient) MovedFolds(lowered, device).run();
}

}  // namespace neon
