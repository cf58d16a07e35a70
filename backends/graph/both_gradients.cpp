#include "backends/graph/both_gradients.h"

#include <algorithm>

#include "backends/graph/kernel_moves.h"

namespace neon {

namespace {

class BothGradients {
 public:
  BothGradients(Lowered& lowered, const DeviceKernels& device)
      : lowered_(lowered), graph_(lowered.graph), kernels_(lowered.kernels), device_(device) {}

  void run() {
    for (size_t k = 0; k < kernels_.size(); ++k) {
      if (kernels_[k].convolution() != ConvolutionKind::by_input || !kernels_[k].attachments.empty() ||
          !device_.makes_both_gradients(kernels_[k], graph_, device_))
        continue;
      const size_t other = gradient_by_filters(k);
      if (other == k) continue;
      take(kernels_[k], kernels_[other]);
      kernels_.erase(kernels_.begin() + long(other));
      if (other < k) --k;
    }
  }

 private:
  // The kernel of the gradient by the filters that may as well be made where kernel k stands; else k.
  size_t gradient_by_filters(size_t k) const {
    for (size_t other = 0; other < kernels_.size(); ++other)
      if (is_gradient_by_filters(kernels_[k], kernels_[other]) &&
          (other < k ? may_wait(lowered_, other, k) : may_come(other, k)))
        return other;
    return k;
  }

  bool is_gradient_by_filters(const LoweredKernel& by_input, const LoweredKernel& other) const {
    const bool plain = std::ranges::all_of(
        other.attachments, [](const Attachment& attached) { return attached.kind == Attachment::Kind::prologue; });
    if (other.convolution() != ConvolutionKind::by_filters || !plain) return false;
    const auto same = [&](const char* name) {
      return by_input.attributes.integers(name) == other.attributes.integers(name);
    };
    return other.inputs[other.prologue() ? 0 : 1] == by_input.inputs[0] &&
           graph_.type(image_of(other)) == graph_.type(by_input.outputs[0]) &&
           graph_.type(other.outputs[0]) == graph_.type(by_input.inputs[1]) && same("strides") && same("padding") &&
           same("dilation") && by_input.attributes.integer("groups") == other.attributes.integer("groups");
  }

  // Whether all that kernel `late` reads is there at the place of kernel `early`.
  bool may_come(size_t late, size_t early) const {
    for (size_t k = early; k < late; ++k)
      for (Value output : kernels_[k].outputs)
        for (Value input : kernels_[late].inputs)
          if (array_of(lowered_, input) == array_of(lowered_, output)) return false;
    return true;
  }

  static Value image_of(const LoweredKernel& by_filters) {
    const Attachment* computed = by_filters.find(Attachment::Kind::prologue);
    return computed ? computed->value : by_filters.inputs[0];
  }

  static void take(LoweredKernel& by_input, const LoweredKernel& by_filters) {
    const Value image = image_of(by_filters);
    by_input.attachments = by_filters.attachments;
    by_input.attachments.push_back({.kind = Attachment::Kind::filters, .value = image, .op = by_filters.op});
    if (by_filters.prologue())
      by_input.inputs.insert(by_input.inputs.end(), by_filters.inputs.begin() + 1, by_filters.inputs.end());
    else by_input.inputs.push_back(image);
    by_input.outputs.push_back(by_filters.outputs[0]);
  }

  Lowered& lowered_;
  const Graph& graph_;
  std::vector<LoweredKernel>& kernels_;
  const DeviceKernels& device_;
};

}  // namespace

void take_both_gradients(Lowered& lowered, const DeviceKernels& device) {
  if (device.makes_both_gradients) BothGradients(lowered, device).run();
}

}  // namespace neon
