// Lion (Chen et al. 2023, Symbolic Discovery of Optimization Algorithms, Algorithm 2): steps of one size for all
// weights.
#include "optimizers/optimizer.h"

namespace neon {

namespace {

struct LionParams {
  double learning_rate = 1e-4, beta_1 = 0.9, beta_2 = 0.99, wdecay = 0;
  static void describe(auto&& p) {
    p("learning_rate", &LionParams::learning_rate,
      "Size of a step, of every weight: three to ten times smaller than AdamW's.", at_least(0));
    p("beta_1", &LionParams::beta_1, "Share of the running mean in the sum whose sign is the step.", half_open(0, 1));
    p("beta_2", &LionParams::beta_2, "Share of the running mean that is kept.", half_open(0, 1));
    p("wdecay", &LionParams::wdecay,
      "Share of the weight taken off in a step, times the rate. Biases, gamma and beta decay, too; a MultiOptimizer "
      "can exempt them.",
      at_least(0), Alias{"weight_decay"});
  }
};

struct Lion : Parametrized<Optimizer, LionParams> {
  using Parametrized::Parametrized;
  double learning_rate() const override { return params.learning_rate; }
  Expr update(UpdateContext& c) const override {
    const Expr mean = c.state("mean"), g = c.gradient;
    const Expr direction = apply("sign", params.beta_1 * mean + (1 - params.beta_1) * g);
    c.set_state("mean", params.beta_2 * mean + (1 - params.beta_2) * g);
    return c.weight * (1.0 - c.rate * params.wdecay) - c.rate * direction;
  }
};
NEON_REGISTER(Optimizer, Lion, "Steps by the sign of a running mean of the gradient (Chen et al. 2023).", {"lion"});

}  // namespace

}  // namespace neon
