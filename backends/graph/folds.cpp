#include "backends/graph/folds.h"

#include <algorithm>
#include <set>

#include "backends/graph/ops.h"

namespace neon {

namespace {

using Kind = Instruction::Kind;

bool needs_fold(const Segment& segment, int reg) {
  const Instruction& i = segment.body[size_t(reg)];
  return i.kind == Kind::reduce || std::ranges::any_of(i.inputs, [&](int input) { return needs_fold(segment, input); });
}

// A segment that walks over numbers of the last axis, where it did so over whole arrays and made such numbers alone.
void walk_over_last_axis(Segment& segment) {
  for (int axis = 0; axis + 1 < segment.domain.rank(); ++axis) segment.domain = segment.domain.with(axis, 1);
  segment.reduced.assign(segment.reduced.size(), false);
  const auto widen = [](Reach& reach) {
    if (reach == Reach::kept) reach = Reach::full;
  };
  std::vector<bool> needed(segment.body.size(), false);
  for (const Store& store : segment.stores) needed[size_t(store.reg)] = true;
  for (size_t n = segment.body.size(); n-- > 0;)
    if (needed[n])
      for (int input : segment.body[n].inputs) needed[size_t(input)] = true;
  std::vector<int> moved(segment.body.size(), -1);
  std::vector<Instruction> body;
  for (size_t n = 0; n < segment.body.size(); ++n) {
    if (!needed[n]) continue;
    moved[n] = int(body.size());
    body.push_back(std::move(segment.body[n]));
    for (int& input : body.back().inputs) input = moved[size_t(input)];
    widen(body.back().reach);
  }
  segment.body = std::move(body);
  for (Store& store : segment.stores) store.reg = moved[size_t(store.reg)], widen(store.reach);
}

}  // namespace

bool folds_first(const LoweredKernel& kernel, const Graph& graph, const Shape& shape) {
  if (!kernel.fused || kernel.is_once() || kernel.fused->guard || kernel.fused->product) return false;
  const FusedKernel& code = *kernel.fused;
  if (code.segments.size() != 1 || !code.post.empty() || code.compute != DType::f32) return false;
  const Segment& only = code.segments[0];
  const bool of_columns = std::ranges::count(only.reduced, false) == 1 && !only.reduced.back();
  const bool writes = std::ranges::any_of(only.stores, [&](const Store& s) { return outlives_run(graph, s.value); });
  return only.domain == shape && of_columns && !writes && only.totals.empty() &&
         std::ranges::none_of(only.body, [&](const Instruction& i) {
           return i.kind == Kind::reduce && (i.op->traits.reduction != Reduction::sum ||
                                             graph.dtype(i.folded) != DType::f32 || needs_fold(only, i.inputs[0]));
         });
}

bool goes_on(const FusedKernel& code) {
  return std::ranges::any_of(code.segments[0].stores, [](const Store& s) { return s.reach == Reach::full; });
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
  if (!goes_on(*code)) {
    walk_over_last_axis(segment);
    std::erase_if(kernel.inputs, [&](Value input) {
      return std::ranges::none_of(segment.body,
                                  [&](const Instruction& i) { return i.value == input || i.index == input; });
    });
  }
  kernel.fused = std::move(code);
}

std::optional<ShiftedSums> shifted_sums(const FusedKernel& folds, Value x) {
  const Segment& of = folds.segments[0];
  // The instruction behind a register, before casts to the f32 that kernels compute in.
  const auto at = [&](int reg) -> const Instruction& {
    const Instruction* i = &of.body[size_t(reg)];
    while (i->kind == Kind::compute && i->op->is(ops::identity) && i->dtype == DType::f32)
      i = &of.body[size_t(i->inputs[0])];
    return *i;
  };
  const auto loads = [&](int reg, Reach reach) {
    const Instruction& i = at(reg);
    return i.kind == Kind::load && i.value == x && !i.index && !i.first && i.reach == reach;
  };
  const auto is_shifted = [&](int reg) {
    const Instruction& i = at(reg);
    return i.kind == Kind::compute && i.op->is(ops::sub) && loads(i.inputs[0], Reach::full) &&
           loads(i.inputs[1], Reach::kept);
  };
  ShiftedSums out;
  for (const Store& store : of.stores) {
    const int folded = at(store.reg).inputs[0];
    const Instruction& i = at(folded);
    if (is_shifted(folded)) out.sum = store.value;
    else if (i.kind == Kind::compute && i.op->is(ops::square) && is_shifted(i.inputs[0])) out.squares = store.value;
    else return {};
  }
  if (of.stores.size() != 2 || !out.sum || !out.squares) return {};
  return out;
}

}  // namespace neon
