#include "backends/graph/row_products.h"

#include <algorithm>
#include <set>

#include "backends/graph/fuse.h"
#include "backends/graph/kernel_moves.h"

namespace neon {

namespace {

// Whether all that the kernel does are the walks over its one segment.
bool only_walks(const LoweredKernel& kernel) {
  if (!kernel.fused || kernel.is_once()) return false;
  const FusedKernel& code = *kernel.fused;
  return code.segments.size() == 1 && code.post.empty() && !code.guard && code.segments[0].totals.empty();
}

class RowProducts {
 public:
  RowProducts(Lowered& lowered, const DeviceKernels& device)
      : lowered_(lowered), graph_(lowered.graph), kernels_(lowered.kernels), device_(device) {}

  void run() {
    for (size_t k = 0; k < kernels_.size(); ++k) {
      if (!only_walks(kernels_[k])) continue;
      for (Value value : loaded(kernels_[k].fused->segments[0])) {
        const size_t maker = maker_of(value, k);
        if (maker == k || !may_wait(lowered_, maker, k)) continue;
        const RowProduct product = product_of(kernels_[maker], k);
        if (!device_.multiplies_rows(kernels_[k], product, lowered_, device_)) continue;
        take(kernels_[k], product);
        kernels_.erase(kernels_.begin() + long(maker));
        --k;
        break;
      }
    }
  }

 private:
  static std::vector<Value> loaded(const Segment& segment) {
    std::vector<Value> out;
    for (const Instruction& i : segment.body)
      if (i.kind == Instruction::Kind::load && i.reach == Reach::full && !i.index) out.push_back(i.value);
    return out;
  }

  // The product before `end` that makes a value, else `end`.
  size_t maker_of(Value value, size_t end) const {
    for (size_t m = 0; m < end; ++m)
      if (std::ranges::count(kernels_[m].outputs, value)) return is_row_product(kernels_[m]) ? m : end;
    return end;
  }

  bool is_row_product(const LoweredKernel& kernel) const {
    const ConvolutionKind kind = kernel.convolution();
    if (kind != ConvolutionKind::forward && kind != ConvolutionKind::by_input) return false;
    const auto lies_alone = [&](Value value) { return !lowered_.placements[size_t(value.id)]; };
    return kernel.attachments.empty() && kernel.outputs.size() == 1 && is_pointwise(kernel, graph_) &&
           !outlives_run(graph_, kernel.outputs[0]) && lies_alone(kernel.outputs[0]) && lies_alone(kernel.inputs[0]);
  }

  RowProduct product_of(const LoweredKernel& kernel, size_t reader) const {
    const Value result = kernel.outputs[0];
    bool kept = false;
    for (size_t k = 0; k < kernels_.size(); ++k)
      for (Value input : kernels_[k].inputs)
        kept = kept || (viewed(graph_, input) == result && (k != reader || input != result));
    for (const auto& [name, output] : graph_.outputs()) kept = kept || viewed(graph_, output) == result;
    return {.result = result,
            .rows = kernel.inputs[0],
            .weights = kernel.inputs[1],
            .turned = kernel.convolution() == ConvolutionKind::by_input,
            .kept = kept};
  }

  // The result has memory in any case: a later walk may read it.
  static void take(LoweredKernel& kernel, const RowProduct& product) {
    auto code = std::make_shared<FusedKernel>(*kernel.fused);
    code->product = product;
    kernel.fused = std::move(code);
    std::set<Value> inputs(kernel.inputs.begin(), kernel.inputs.end());
    inputs.erase(product.result);
    inputs.insert({product.rows, product.weights});
    kernel.inputs.assign(inputs.begin(), inputs.end());
    kernel.outputs.push_back(product.result);
  }

  Lowered& lowered_;
  const Graph& graph_;
  std::vector<LoweredKernel>& kernels_;
  const DeviceKernels& device_;
};

}  // namespace

void take_row_products(Lowered& lowered, const DeviceKernels& kernels) {
  if (kernels.multiplies_rows) RowProducts(lowered, kernels).run();
}

}  // namespace neon
