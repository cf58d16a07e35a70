// LARS and LAMB, for large batches: the step of each array is as long as its weights are, times a factor.
#include "optimizers/moments.h"

namespace neon {

namespace {

// by / of, or 1 where either is 0: biases that begin at 0 then move by the plain step.
Expr ratio(Expr by, Expr of) {
  return apply("select", apply("greater", minimum(by, of), by.constant(0)), by / of, by.constant(1));
}

constexpr const char* kDecay =
    "Factor of the weight that is added to the direction of a step. Biases, gamma and beta decay, too; a "
    "MultiOptimizer can exempt them.";

struct LARSParams {
  double learning_rate = 0, momentum_coef = 0.9, trust = 0.001, wdecay = 0;
  static void describe(auto&& p) {
    p("learning_rate", &LARSParams::learning_rate, "Size of a step.", at_least(0), Required{});
    p("momentum_coef", &LARSParams::momentum_coef, "Share of the last step that is repeated.", half_open(0, 1),
      Alias{"momentum"});
    p("trust", &LARSParams::trust,
      "Length of a step at rate 1, by the length of the array of weights. Arrays of zeros take the rate itself.",
      above(0));
    p("wdecay", &LARSParams::wdecay, kDecay, at_least(0), Alias{"weight_decay"});
  }
};

// You et al. 2017, Algorithm 1: l = trust |p| / (|g| + wdecay |p|), v = m v + rate l (g + wdecay p), p -= v
struct LARS : Parametrized<Optimizer, LARSParams> {
  using Parametrized::Parametrized;
  double learning_rate() const override { return params.learning_rate; }
  Expr update(UpdateContext& c) const override {
    const Expr weights = c.length(c.weight), slope = c.length(c.gradient);
    const Expr own = ratio(params.trust * weights, slope + params.wdecay * weights);
    const Expr v =
        params.momentum_coef * c.state("velocity") + (c.rate * own) * (c.gradient + params.wdecay * c.weight);
    c.set_state("velocity", v);
    return c.weight - v;
  }
};
NEON_REGISTER(Optimizer, LARS,
              "Gradient descent with momentum, whose rate follows the length of each array of weights (You et al. "
              "2017).",
              {"lars"});

struct LAMBParams {
  double learning_rate = 0.001, beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-6, wdecay = 0.01;
  static void describe(auto&& p) {
    p("learning_rate", &LAMBParams::learning_rate, "Length of a step, by the length of the array of weights.",
      at_least(0));
    p("beta_1", &LAMBParams::beta_1, "Share of the running mean that is kept.", half_open(0, 1));
    p("beta_2", &LAMBParams::beta_2, "Share of the running mean of squares that is kept.", half_open(0, 1));
    p("epsilon", &LAMBParams::epsilon, "Added to the root of the unbiased mean of squares.", above(0));
    p("wdecay", &LAMBParams::wdecay, kDecay, at_least(0), Alias{"weight_decay"});
  }
};

// You et al. 2020, Algorithm 2, with the identity for phi: r = m' / (sqrt(v') + e) + wdecay p, p -= rate |p| / |r| r
struct LAMB : Parametrized<Optimizer, LAMBParams> {
  using Parametrized::Parametrized;
  double learning_rate() const override { return params.learning_rate; }
  Expr update(UpdateContext& c) const override {
    const auto [mean, squares] = follow_moments(c, {params.beta_1, params.beta_2});
    const Expr root = sqrt(squares / unbias(params.beta_2, c.count));
    const Expr r = mean / unbias(params.beta_1, c.count) / (root + params.epsilon) + params.wdecay * c.weight;
    return c.weight - c.rate * ratio(c.length(c.weight), c.length(r)) * r;
  }
};
NEON_REGISTER(Optimizer, LAMB,
              "Adam whose steps are as long as each array of weights, times the rate (You et al. 2020).", {"lamb"});

}  // namespace

}  // namespace neon
