// One row of features from the steps of a sequence, (N,T,F) -> (N,F).
#include <limits>

#include "layers/cells.h"
#include "transforms/parts.h"

namespace neon {

namespace {

// A layer of that name whose function makes (N,1,F) of the steps (N,T,F) that are no padding. `counts` (N,T,1) is 1 for
// these and 0 for padding, without a value where nothing is padded.
template <typename Rule>
struct OverTime : Parametrized<Layer, NoParams> {
  using Parametrized::Parametrized;
  Expr forward(LayerContext& context, Expr x) const override {
    check_sequence(context, x, Rule::name);
    const Expr counts = unpadded(context, x);
    const Expr y = cast(Rule::over_steps(counts.value() ? cast(x, context.arithmetic_dtype) : x, counts), x.dtype());
    return reshape(y, {y.shape()[0], y.shape()[2]});
  }
  Sight sight() const override { return Sight::any; }
  WayOfZeros way_of_zeros() const override { return Rule::way_of_zeros; }
};

// x where it counts, otherwise a number.
Expr where(Expr counts, Expr x, double otherwise) {
  return counts.value() ? apply("select", counts, x, x.constant(otherwise)) : x;
}

struct SumRule {
  static constexpr const char* name = "RecurrentSum";
  static constexpr WayOfZeros way_of_zeros = WayOfZeros::mixed;
  static Expr over_steps(Expr x, Expr counts) { return sum(where(counts, x, 0), {1}); }
};
const Registration<Layer, OverTime<SumRule>> sum_registration{
    SumRule::name, "The sum over the steps of a sequence: (T,F) becomes (F).", {}};

struct MeanRule {
  static constexpr const char* name = "RecurrentMean";
  static constexpr WayOfZeros way_of_zeros = WayOfZeros::mixed;
  static Expr over_steps(Expr x, Expr counts) {
    return counts.value() ? sum(where(counts, x, 0), {1}) / sum(counts, {1}) : mean(x, {1});
  }
};
const Registration<Layer, OverTime<MeanRule>> mean_registration{
    MeanRule::name, "The mean over the steps of a sequence: (T,F) becomes (F).", {}};

struct MaxRule {
  static constexpr const char* name = "RecurrentMax";
  static constexpr WayOfZeros way_of_zeros = WayOfZeros::mixed;
  static Expr over_steps(Expr x, Expr counts) {
    return max(where(counts, x, -std::numeric_limits<double>::infinity()), {1});
  }
};
const Registration<Layer, OverTime<MaxRule>> max_registration{
    MaxRule::name, "The largest of each feature over the steps of a sequence: (T,F) becomes (F).", {}};

struct LastRule {
  static constexpr const char* name = "RecurrentLast";
  static constexpr WayOfZeros way_of_zeros = WayOfZeros::moved;
  static Expr over_steps(Expr x, Expr counts) {
    if (counts.value()) {
      const Expr number = cast(Expr(x.graph(), iota(x.graph(), {1, x.shape()[1], 1}, 1)), counts.dtype());
      return sum(where(apply("equal", number, sum(counts, {1}) - 1.0), x, 0), {1});
    }
    return part(x, 1, x.shape()[1] - 1);
  }
};
const Registration<Layer, OverTime<LastRule>> last_registration{
    LastRule::name, "The last step of a sequence: (T,F) becomes (F).", {}};

}  // namespace

}  // namespace neon
