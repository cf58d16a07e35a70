#include "backends/graph/moved_folds.h"

#include <algorithm>
#include <set>

#include "backends/graph/kernel_moves.h"

namespace neon {

namespace {

using Kind = Instruction::Kind;

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
      if (!std::ranges::count(kernels_[f].inputs, made) || !may_be_split(kernels_[f], graph_.shape(made))) continue;
      const auto code = std::make_shared<const FusedKernel>(folds_of(*kernels_[f].fused));
      if (code->segments[0].stores.empty() || !reads(*code, made) || is_made_later(*code, k, f) ||
          !device_.folds_gradient(kernels_[k], graph_, *code))
        continue;
      give(kernels_[k], code);
      take(kernels_[f], *code);
      return;
    }
  }

  // Whether a kernel folds all axes but the last of an array of this shape in one walk, and goes on in a second. Not if
  // it writes what it may read: without folds no thread waits for those that read before it writes.
  bool may_be_split(const LoweredKernel& kernel, const Shape& shape) const {
    if (!kernel.fused || kernel.is_once() || kernel.fused->guard || kernel.fused->product) return false;
    const FusedKernel& code = *kernel.fused;
    if (code.segments.size() != 1 || !code.post.empty() || code.compute != DType::f32) return false;
    const Segment& only = code.segments[0];
    const bool of_columns = std::ranges::count(only.reduced, false) == 1 && !only.reduced.back();
    const bool goes_on = std::ranges::any_of(only.stores, [](const Store& s) { return s.reach == Reach::full; });
    const bool writes = std::ranges::any_of(only.stores, [&](const Store& s) { return outlives_run(graph_, s.value); });
    return only.domain == shape && of_columns && goes_on && !writes && only.totals.empty() &&
           std::ranges::none_of(only.body, [&](const Instruction& i) {
             return i.kind == Kind::reduce && (i.op->traits.reduction != Reduction::sum ||
                                               graph_.dtype(i.folded) != DType::f32 || needs_fold(only, i.inputs[0]));
           });
  }

  static bool needs_fold(const Segment& segment, int reg) {
    const Instruction& i = segment.body[size_t(reg)];
    return i.kind == Kind::reduce ||
           std::ranges::any_of(i.inputs, [&](int input) { return needs_fold(segment, input); });
  }

  // The code of the folds alone; each is stored as the value of the graph that it makes.
  static FusedKernel folds_of(const FusedKernel& code) {
    const Segment& all = code.segments[0];
    Segment out{.domain = all.domain, .reduced = all.reduced};
    std::vector<int> moved(all.body.size(), -1);
    const auto emit = [&](int reg, auto&& self) -> int {
      if (moved[size_t(reg)] >= 0) return moved[size_t(reg)];
      Instruction i = all.body[size_t(reg)];
      for (int& input : i.inputs) input = self(input, self);
      out.body.push_back(std::move(i));
      return moved[size_t(reg)] = int(out.body.size()) - 1;
    };
    for (size_t n = 0; n < all.body.size(); ++n)
      if (all.body[n].kind == Kind::reduce) out.stores.push_back({emit(int(n), emit), all.body[n].folded, Reach::kept});
    return {.segments = {std::move(out)}};
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

  // The kernel reads the folds in place of making them.
  static void take(LoweredKernel& reader, const FusedKernel& folds) {
    auto code = std::make_shared<FusedKernel>(*reader.fused);
    Segment& segment = code->segments[0];
    for (Instruction& i : segment.body) {
      if (i.kind != Kind::reduce) continue;
      Instruction load{.kind = Kind::load, .reach = Reach::kept, .value = i.folded};
      load.strides.assign(size_t(segment.domain.rank()), 0);
      load.strides.back() = segment.domain.back() > 1;
      i = std::move(load);
    }
    std::set<Value> made;
    for (const Store& store : folds.segments[0].stores) made.insert(store.value);
    std::erase_if(segment.stores, [&](const Store& store) { return made.count(store.value); });
    std::erase_if(reader.outputs, [&](Value output) { return made.count(output); });
    std::set<Value> inputs(reader.inputs.begin(), reader.inputs.end());
    inputs.insert(made.begin(), made.end());
    reader.inputs.assign(inputs.begin(), inputs.end());
    reader.fused = std::move(code);
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
