#include "optimizers/moments.h"

#include <cmath>

namespace neon {

Moments follow_moments(UpdateContext& context, const MomentRates& rates) {
  const Expr g = context.gradient;
  const Expr mean = rates.beta_1 * context.state("mean") + (1 - rates.beta_1) * g;
  const Expr square_mean = rates.beta_2 * context.state("square") + (1 - rates.beta_2) * square(g);
  context.set_state("mean", mean);
  context.set_state("square", square_mean);
  return {mean, square_mean};
}

// By expm1, since beta is close to 1.
Expr unbias(double beta, Expr count) { return beta > 0 ? -apply("expm1", count * std::log(beta)) : count.constant(1); }

}  // namespace neon
