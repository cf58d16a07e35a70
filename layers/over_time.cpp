// One row of features from the steps of a sequence, (N,T,F) -> (N,F).
#include "backends/graph/ops.h"
#include "layers/cells.h"

namespace neon {

namespace {

// A layer of that name whose function makes (N,1,F) of (N,T,F).
template <typename Rule>
struct OverTime : Parametrized<Layer, NoParams> {
  using Parametrized::Parametrized;
  Expr forward(LayerContext& context, Expr x) const override {
    check_sequence(context, x, Rule::name);
    const Expr y = Rule::over_steps(x);
    return reshape(y, {y.shape()[0], y.shape()[2]});
  }
};

struct SumRule {
  static constexpr const char* name = "RecurrentSum";
  static Expr over_steps(Expr x) { return sum(x, {1}); }
};
const Registration<Layer, OverTime<SumRule>> sum_registration{
    SumRule::name, "The sum over the steps of a sequence: (T,F) becomes (F).", {}};

struct MeanRule {
  static constexpr const char* name = "RecurrentMean";
  static Expr over_steps(Expr x) { return mean(x, {1}); }
};
const Registration<Layer, OverTime<MeanRule>> mean_registration{
    MeanRule::name, "The mean over the steps of a sequence: (T,F) becomes (F).", {}};

struct MaxRule {
  static constexpr const char* name = "RecurrentMax";
  static Expr over_steps(Expr x) { return max(x, {1}); }
};
const Registration<Layer, OverTime<MaxRule>> max_registration{
    MaxRule::name, "The largest of each feature over the steps of a sequence: (T,F) becomes (F).", {}};

struct LastRule {
  static constexpr const char* name = "RecurrentLast";
  static Expr over_steps(Expr x) {
    const Attributes last = {{"axis", int64_t(1)}, {"first", x.shape()[1] - 1}, {"count", int64_t(1)}};
    return {x.graph(), x.graph().add(ops::slice, {x}, last)};
  }
};
const Registration<Layer, OverTime<LastRule>> last_registration{
    LastRule::name, "The last step of a sequence: (T,F) becomes (F).", {}};

}  // namespace

}  // namespace neon
