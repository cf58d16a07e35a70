#include "backends/graph/folds.h"

#include <algorithm>
#include <set>

namespace neon {

namespace {

using Kind = Instruction::Kind;

bool needs_fold(const Segment& segment, int reg) {
  const Instruction& i = segment.body[size_t(reg)];
  return i.kind == Kind::reduce || std::ranges::any_of(i.inputs, [&](int input) { return needs_fold(segment, input); });
}

}  // namespace

bool folds_first(const LoweredKernel& kernel, const Graph& graph, const Shape& shape) {
  if (!kernel.fused || kernel.is_once() || kernel.fused->guard || kernel.fused->product) return false;
  const FusedKernel& code = *kernel.fused;
  if (code.segments.size() != 1 || !code.post.empty() || code.compute != DType::f32) return false;
  const Segment& only = code.segments[0];
  const bool of_columns = std::ranges::count(only.reduced, false) == 1 && !only.reduced.back();
  const bool goes_on = std::ranges::any_of(only.stores, [](const Store& s) { return s.reach == Reach::full; });
  const bool writes = std::ranges::any_of(only.stores, [&](const Store& s) { return outlives_run(graph, s.value); });
  return only.domain == shape && of_columns && goes_on && !writes && only.totals.empty() &&
         std::ranges::none_of(only.body, [&](const Instruction& i) {
           return i.kind == Kind::reduce && (i.op->traits.reduction != Reduction::sum ||
                                             graph.dtype(i.folded) != DType::f32 || needs_fold(only, i.inputs[0]));
         });
}

FusedKernel folds_of(const FusedKernel& code) {
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

void read_folds(LoweredKernel& kernel, const FusedKernel& folds) {
  auto code = std::make_shared<FusedKernel>(*kernel.fused);
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
  std::erase_if(kernel.outputs, [&](Value output) { return made.count(output); });
  std::set<Value> inputs(kernel.inputs.begin(), kernel.inputs.end());
  inputs.insert(made.begin(), made.end());
  kernel.inputs.assign(inputs.begin(), inputs.end());
  kernel.fused = std::move(code);
}

}  // namespace neon
