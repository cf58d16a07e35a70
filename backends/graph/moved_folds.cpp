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
    for (size_t k = 0; k < kernels_.size(); ++k) {
      const LoweredKernel& kernel = kernels_[k];
      const ConvolutionKind kind = kernel.convolution();
      if (kernel.takes(Attachment::Kind::filters) && kind == ConvolutionKind::by_input && device_.folds_gradient)
        move_to(k, true);
      if (kind == ConvolutionKind::forward && !lowered_.placements[size_t(kernel.outputs[0].id)] &&
          device_.folds_result)
        move_to(k, false);
    }
  }

 private:
  // The folds of the gradient, or of the result, that kernel k makes.
  void move_to(size_t k, bool of_gradient) {
    const Value made = kernels_[k].outputs[0];
    for (size_t f = k + 1; f < kernels_.size(); ++f) {
      if (!std::ranges::count(kernels_[f].inputs, made) || !folds_first(kernels_[f], graph_, graph_.shape(made)) ||
          (of_gradient && !goes_on(*kernels_[f].fused)))
        continue;
      const auto code = std::make_shared<const FusedKernel>(folds_of(*kernels_[f].fused));
      if (code->segments[0].stores.empty() || !reads(*code, made) || is_made_later(*code, k, f) ||
          !can_fold(kernels_[k], *code, of_gradient))
        continue;
      give(kernels_[k], code);
      read_folds(kernels_[f], *code);
      if (kernels_[f].outputs.empty()) kernels_.erase(kernels_.begin() + long(f));
      return;
    }
  }

  bool can_fold(const LoweredKernel& kernel, const FusedKernel& code, bool of_gradient) const {
    return of_gradient ? device_.folds_gradient(kernel, graph_, code)
                       : device_.folds_result(kernel, graph_, code, device_);
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

void move_folds(Lowered& lowered, const DeviceKernels& device) { MovedFolds(lowered, device).run(); }

}  // namespace neon
