// neon's update rules and AdamW. g is the clipped gradient of the mean cost. Decays and powers of the number of updates
// are numbers of the step record, the same for every element.
#include <algorithm>

#include "optimizers/moments.h"

namespace neon {

namespace {

// A momentum that may go in a line to another, by whole epochs.
struct MovingMomentum {
  double momentum_coef = 0;
  std::optional<double> momentum_end;
  std::vector<int64_t> momentum_epochs;
  static void describe_coef(auto&& p) {
    p("momentum_coef", &MovingMomentum::momentum_coef, "Share of the last step that is repeated.", half_open(0, 1),
      Alias{"momentum"});
  }
  static void describe_end(auto&& p) {
    p("momentum_end", &MovingMomentum::momentum_end,
      "Momentum that momentum_coef goes to in a line, by whole epochs; needs momentum_epochs.", half_open(0, 1));
    p("momentum_epochs", &MovingMomentum::momentum_epochs,
      "The two epochs, counted from 0, between which the momentum changes: [10, 100]. [10, 10] is a jump at 10.",
      at_least(0));
  }

  void check() const {
    const auto& epochs = momentum_epochs;
    if (momentum_end.has_value() != !epochs.empty())
      fail(ErrorKind::config, "momentum_end and momentum_epochs belong together; one of them is missing");
    if (!epochs.empty() && (epochs.size() != 2 || epochs[0] > epochs[1]))
      fail(ErrorKind::config, "momentum_epochs must be two epochs, the earlier one first, as in [10, 100]");
  }
  bool is_none() const { return momentum_coef == 0 && !momentum_end; }
  double at(const Progress& at) const {
    if (!momentum_end) return momentum_coef;
    const double done = std::clamp((double(at.epoch) - first()) / (last() - first()), 0.0, 1.0);
    return momentum_coef + (*momentum_end - momentum_coef) * done;
  }
  Expr now(UpdateContext& c) const {
    if (!momentum_end) return c.weight.constant(momentum_coef);
    const Expr done = maximum(minimum((c.epoch - first()) / (last() - first()), 1.0), 0.0);
    return momentum_coef + (*momentum_end - momentum_coef) * done;
  }

 private:
  // The last epoch of momentum_coef.
  double first() const { return double(momentum_epochs[0] - (momentum_epochs[0] == momentum_epochs[1] ? 1 : 0)); }
  double last() const { return double(momentum_epochs[1]); }
};

struct MomentumParams : MovingMomentum {
  double learning_rate = 0.01;
  double wdecay = 0;
  bool nesterov = false;
  static void describe(auto&& p) {
    p("learning_rate", &MomentumParams::learning_rate, "Size of a step.", at_least(0), Required{});
    MovingMomentum::describe_coef(p);
    p("wdecay", &MomentumParams::wdecay,
      "Factor of the weight that is added to its gradient, after clipping. Biases, gamma and beta decay, too; a "
      "MultiOptimizer can exempt them.",
      at_least(0), Alias{"weight_decay"});
    p("nesterov", &MomentumParams::nesterov, "Nesterov's momentum; needs momentum_coef above 0.");
    MovingMomentum::describe_end(p);
  }
};
// g' = g + wdecay p, v = m v - rate g', p += v; Nesterov: p += m v - rate g' with the new v. neon's path without
// momentum forgot param_clip_value; here it is the base's work.
struct GradientDescentMomentum : Parametrized<Optimizer, MomentumParams> {
  explicit GradientDescentMomentum(MomentumParams given) : Parametrized(std::move(given)) {
    if (params.nesterov && params.momentum_coef == 0)
      fail(ErrorKind::config, "nesterov needs momentum_coef above 0, found ", params.momentum_coef);
    params.check();
  }
  double learning_rate() const override { return params.learning_rate; }
  std::optional<double> momentum_at(const Progress& at) const override { return params.at(at); }
  Expr update(UpdateContext& c) const override {
    Expr g = c.gradient;
    if (params.wdecay > 0) g = g + params.wdecay * c.weight;
    if (params.is_none()) return c.weight - c.rate * g;
    const Expr momentum = params.now(c);
    Expr v = momentum * c.state("velocity") - c.rate * g;
    c.set_state("velocity", v);
    return params.nesterov ? c.weight + (momentum * v - c.rate * g) : c.weight + v;
  }
};
NEON_REGISTER(Optimizer, GradientDescentMomentum, "Gradient descent with momentum (and Nesterov's).",
              {"GDM", "SGD", "gradient_descent_momentum", "gradient_descent"});

// neon 1.x's gradient_clip_norm: the running means saw the whole gradient, and the step alone was shortened.
struct ClipStep {
  bool clip_step = false;
  static void describe(auto&& p) {
    p("clip_step", &ClipStep::clip_step,
      "Whether gradient_clip_norm shortens the step instead of the gradient, as neon 1.x did; its specs set this.");
  }
};

struct RMSPropParams : ClipStep, MovingMomentum {
  double decay_rate = 0.95, learning_rate = 2e-3, epsilon = 1e-6;
  bool root_epsilon = true;
  static void describe(auto&& p) {
    p("learning_rate", &RMSPropParams::learning_rate, "Size of a step.", at_least(0));
    p("decay_rate", &RMSPropParams::decay_rate, "Share of the running mean of squares that is kept.", half_open(0, 1));
    p("epsilon", &RMSPropParams::epsilon, "Added outside the root, and inside where root_epsilon is true.", above(0));
    p("root_epsilon", &RMSPropParams::root_epsilon,
      "Whether epsilon is added inside the root, too; specs of neon 0.9 set this to false.");
    MovingMomentum::describe_coef(p);
    MovingMomentum::describe_end(p);
    ClipStep::describe(p);
  }
};
// s = d s + (1 - d) g^2, p -= rate g / (sqrt(s + e) + e)   (Tieleman and Hinton 2012); with momentum m, as neon 0.9 had
// it: v = m v - rate g / (sqrt(s + e) + e), p += v. In neon 0.9 the root was that of s alone.
struct RMSProp : Parametrized<Optimizer, RMSPropParams> {
  explicit RMSProp(RMSPropParams given) : Parametrized(std::move(given)) { params.check(); }
  double learning_rate() const override { return params.learning_rate; }
  bool clips_step() const override { return params.clip_step; }
  std::optional<double> momentum_at(const Progress& at) const override { return params.at(at); }
  Expr update(UpdateContext& c) const override {
    Expr s = params.decay_rate * c.state("square") + (1 - params.decay_rate) * square(c.gradient);
    c.set_state("square", s);
    const Expr root = sqrt(params.root_epsilon ? s + params.epsilon : s);
    const Expr step = c.rate * c.gradient / (root + params.epsilon);
    if (params.is_none()) return c.weight - step;
    const Expr v = params.now(c) * c.state("velocity") - step;
    c.set_state("velocity", v);
    return c.weight + v;
  }
};
NEON_REGISTER(Optimizer, RMSProp, "Steps divided by a running root mean square of the gradient.", {"rmsprop"});

struct AdagradParams : ClipStep {
  double learning_rate = 0.01, epsilon = 1e-6;
  static void describe(auto&& p) {
    p("learning_rate", &AdagradParams::learning_rate, "Size of a step.", at_least(0));
    p("epsilon", &AdagradParams::epsilon, "Added inside the root.", above(0));
    ClipStep::describe(p);
  }
};
// s += g^2, p -= rate g / sqrt(s + e)   (Duchi et al. 2011)
struct Adagrad : Parametrized<Optimizer, AdagradParams> {
  using Parametrized::Parametrized;
  double learning_rate() const override { return params.learning_rate; }
  bool clips_step() const override { return params.clip_step; }
  Expr update(UpdateContext& c) const override {
    Expr s = c.state("square") + square(c.gradient);
    c.set_state("square", s);
    return c.weight - c.rate * c.gradient / sqrt(s + params.epsilon);
  }
};
NEON_REGISTER(Optimizer, Adagrad, "Steps divided by the root of all squared gradients so far.");

struct AdadeltaParams {
  double decay = 0.95, epsilon = 1e-6;
  static void describe(auto&& p) {
    p("decay", &AdadeltaParams::decay, "Share of the running means that is kept.", half_open(0, 1), Alias{"rho"});
    p("epsilon", &AdadeltaParams::epsilon, "Added inside both roots.", above(0));
  }
};
// Zeiler 2012, Algorithm 1; the schedule's rate is of 1. neon 1.x clipped no gradients here.
struct Adadelta : Parametrized<Optimizer, AdadeltaParams> {
  using Parametrized::Parametrized;
  double learning_rate() const override { return 1; }
  Expr update(UpdateContext& c) const override {
    const double d = params.decay, e = params.epsilon;
    Expr g = c.gradient;
    Expr squares = d * c.state("square") + (1 - d) * square(g);
    Expr steps = c.state("step_square");
    Expr step = sqrt((steps + e) / (squares + e)) * g;
    c.set_state("square", squares);
    c.set_state("step_square", d * steps + (1 - d) * square(step));
    return c.weight - c.rate * step;
  }
};
NEON_REGISTER(Optimizer, Adadelta, "Steps in proportion to the size of earlier steps; needs no rate.", {"adadelta"});

struct AdamMoments {
  double learning_rate = 0.001, beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-8;
  static void describe(auto&& p) {
    p("learning_rate", &AdamMoments::learning_rate, "Size of a step.", at_least(0));
    p("beta_1", &AdamMoments::beta_1, "Share of the running mean that is kept.", half_open(0, 1));
    p("beta_2", &AdamMoments::beta_2, "Share of the running mean of squares that is kept.", half_open(0, 1));
    p("epsilon", &AdamMoments::epsilon,
      "Added to the root of the mean of squares: in Adam before the correction of its bias, as in neon 1 and 2, in "
      "AdamW after it.",
      above(0));
  }
};

struct AdamParams : AdamMoments, ClipStep {
  static void describe(auto&& p) {
    AdamMoments::describe(p);
    ClipStep::describe(p);
  }
};

// neon's form: p -= rate sqrt(1 - beta_2^t) / (1 - beta_1^t) m / (sqrt(v) + e), the last line of section 2 of Kingma
// and Ba 2015. t counts updates, also over a stop and a resume; neon
// did not save it with a model.
struct Adam : Parametrized<Optimizer, AdamParams> {
  using Parametrized::Parametrized;
  double learning_rate() const override { return params.learning_rate; }
  bool clips_step() const override { return params.clip_step; }
  Expr update(UpdateContext& c) const override {
    const auto [m, v] = follow_moments(c, {params.beta_1, params.beta_2});
    Expr rate = c.rate * sqrt(unbias(params.beta_2, c.count)) / unbias(params.beta_1, c.count);
    return c.weight - rate * m / (sqrt(v) + params.epsilon);
  }
};
NEON_REGISTER(Optimizer, Adam, "Adam (Kingma and Ba 2015).", {"adam"});

struct AdamWParams : AdamMoments {
  double wdecay = 0.01;
  static void describe(auto&& p) {
    AdamMoments::describe(p);
    p("wdecay", &AdamWParams::wdecay,
      "Share of the weight taken off in a step, times the rate. Biases, gamma and beta decay, too; a MultiOptimizer "
      "can exempt them.",
      at_least(0), Alias{"weight_decay"});
  }
};
// Algorithm 2 of Loshchilov and Hutter 2019, with PyTorch's place of epsilon: m' / (sqrt(v') + e), m' and v'
// unbiased.
struct AdamW : Parametrized<Optimizer, AdamWParams> {
  using Parametrized::Parametrized;
  double learning_rate() const override { return params.learning_rate; }
  Expr update(UpdateContext& c) const override {
    const auto [m, v] = follow_moments(c, {params.beta_1, params.beta_2});
    Expr step = (c.rate / unbias(params.beta_1, c.count)) * m /
                (sqrt(v) / sqrt(unbias(params.beta_2, c.count)) + params.epsilon);
    return c.weight * (1.0 - c.rate * params.wdecay) - step;
  }
};
NEON_REGISTER(Optimizer, AdamW, "Adam with decay of the weights apart from the gradient (Loshchilov and Hutter 2019).",
              {"adamw"});

struct ShiftAdaMaxParams {
  double learning_rate = 0.002, beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-8;
  static void describe(auto&& p) {
    p("learning_rate", &ShiftAdaMaxParams::learning_rate, "Size of a step.", at_least(0));
    p("beta_1", &ShiftAdaMaxParams::beta_1, "Share of the running mean that is kept.", half_open(0, 1));
    p("beta_2", &ShiftAdaMaxParams::beta_2, "Share of the running maximum that is kept.", half_open(0, 1));
    p("epsilon", &ShiftAdaMaxParams::epsilon, "Added to the maximum.", above(0));
  }
};

// Shift-based AdaMax of Courbariaux et al. 2016, Algorithm 4; t = epoch + 1 as neon had it. Weights stay in
// [-1, 1].
struct ShiftAdaMax : Parametrized<Optimizer, ShiftAdaMaxParams> {
  using Parametrized::Parametrized;
  double learning_rate() const override { return params.learning_rate; }
  Expr update(UpdateContext& c) const override {
    Expr g = c.gradient;
    Expr m = params.beta_1 * c.state("mean") + (1 - params.beta_1) * g;
    Expr v = maximum(params.beta_2 * c.state("maximum"), abs(g));
    c.set_state("mean", m);
    c.set_state("maximum", v);
    Expr rate = c.rate / unbias(params.beta_1, c.epoch + 1.0);
    Expr step = apply("shift", apply("shift", m, 1.0 / (v + params.epsilon)), rate);
    return maximum(minimum(c.weight - step, 1.0), -1.0);
  }
};
NEON_REGISTER(Optimizer, ShiftAdaMax, "AdaMax with multiplications replaced by powers of two, for binary nets.");

}  // namespace

}  // namespace neon
