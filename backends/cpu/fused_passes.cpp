// Passes over the tiles of a tall segment. A reduction over the rows is known only after a pass over all tiles, which
// folds each tile for itself; what follows from it is computed in the next pass, anew from what is in memory. Batch
// norm takes three: the mean, the variance, the result. Full results are stored in the last pass, when nothing is read
// any more that they could take the place of; kept ones after it, once for all columns.
#include <algorithm>

#include "backends/cpu/fused_plan.h"

namespace neon::cpu {

namespace {

template <typename R>
class PassPlanner {
 public:
  explicit PassPlanner(SegmentPlan<R>& plan) : plan_(plan) {}

  void run() {
    int last = 0;
    for (size_t i = 0; i < plan_.registers.size(); ++i) {
      RegisterPlan<R>& reg = plan_.registers[i];
      for (int input : reg.inputs) reg.known = std::max(reg.known, plan_.registers[size_t(input)].known);
      if (!is_reduction(reg)) continue;
      last = std::max(last, reg.known);  // the pass that folds it
      ++reg.known;
      reg.reduction_slot = int(plan_.reductions.size());
      plan_.reductions.push_back(int(i));
    }
    each_result([&](int i) {
      if (is_full(i)) last = std::max(last, plan_.registers[size_t(i)].known);
    });
    for (int pass = 0; pass <= last; ++pass) plan_.passes.push_back(registers_of(pass, pass == last));
    needed_.assign(plan_.registers.size(), false);
    each_result([&](int i) {
      if (!is_full(i)) need(i, last + 1);
    });
    plan_.kept = listed();
  }

 private:
  static bool is_reduction(const RegisterPlan<R>& reg) { return reg.kind == Instruction::Kind::reduce; }
  bool is_full(int i) const { return plan_.registers[size_t(i)].reach == Reach::full; }

  template <typename Visit>
  void each_result(Visit&& visit) const {
    for (const StorePlan& store : plan_.stores) visit(store.reg);
    for (const auto& total : plan_.totals) visit(total.reg);
  }

  std::vector<int> registers_of(int pass, bool is_last) {
    needed_.assign(plan_.registers.size(), false);
    bodies_.clear();
    for (int i : plan_.reductions)
      if (plan_.registers[size_t(i)].known == pass + 1) need(i, pass);
    if (is_last)
      each_result([&](int i) {
        if (is_full(i)) need(i, pass);
      });
    // One register stands for what a walk makes.
    for (const BodyPlan<R>& body : bodies_)
      for (int i : body.sums)
        if (i >= 0 && i != body.last) needed_[size_t(i)] = false;
    plan_.bodies.push_back(std::move(bodies_));
    return listed();
  }

  // Register i and all that it is computed from in `pass`; a reduction known by then is there.
  void need(int i, int pass) {
    if (needed_[size_t(i)]) return;
    needed_[size_t(i)] = true;
    const RegisterPlan<R>& reg = plan_.registers[size_t(i)];
    if (is_reduction(reg) && reg.known <= pass) return;
    if (const auto body =
            reg.reach == Reach::full || is_reduction(reg) ? find_body(plan_, i, pass, bodies_) : std::nullopt) {
      for (int sum : body->sums)
        if (sum >= 0) needed_[size_t(sum)] = true;
      bodies_.push_back(*body);
      for (int input : body->inputs()) need(input, pass);
      return;
    }
    for (int input : reg.inputs) need(input, pass);
  }

  std::vector<int> listed() const {
    std::vector<int> out;
    for (size_t i = 0; i < needed_.size(); ++i)
      if (needed_[i]) out.push_back(int(i));
    return out;
  }

  SegmentPlan<R>& plan_;
  std::vector<bool> needed_;
  std::vector<BodyPlan<R>> bodies_;
};

}  // namespace

template <typename R>
void plan_passes(SegmentPlan<R>& plan) {
  PassPlanner<R>(plan).run();
}

template void plan_passes(SegmentPlan<float>&);
template void plan_passes(SegmentPlan<double>&);

}  // namespace neon::cpu
