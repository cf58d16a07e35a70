// Two players: a discriminator that learns to tell samples from made ones, and a generator that learns to mislead it
// (Goodfellow et al. 2014; Arjovsky et al. 2017).
#include "backends/graph/op.h"
#include "backends/graph/ops.h"
#include "models/adversarial.h"
#include "models/check_outputs.h"
#include "models/rule.h"

namespace neon {

namespace {

// Whether an output is a logistic function's, or the mean or the largest of several.
bool is_probability(Expr y) {
  const Graph& graph = y.graph();
  for (Value value = y.value(); value;) {
    if (activation_of({y.graph(), value}).starts_with("logistic")) return true;
    const Node& node = graph.producer(value);
    const Op& op = *node.op;
    value = node.inputs.empty() ? Value{} : node.inputs[0];
    const bool is_mean = op.is(ops::mul) && graph.producer(value).op->is(ops::sum);
    if (!is_mean && !op.is(ops::sum) && !op.is(ops::pool_avg) && !op.is(ops::pool_max) && !op.is(ops::cast) &&
        !op.is(ops::reshape) && !op.is(ops::transpose))
      return false;
  }
  return false;
}

constexpr int kDiscriminator = 0, kGenerator = 1;
// The branches of the layer.
constexpr size_t kGeneratorBranch = 0, kDiscriminatorBranch = 1;
// The Wasserstein schedule: the generator's first moves, and one of so many, wait for so many of the critic's.
constexpr int64_t kFirstMoves = 25, kEvery = 500, kCriticsMoves = 100;

struct AdversarialParams {
  std::string func = "modified";
  int64_t k = 1;
  double wgan_param_clamp = 0;
  bool wgan_train_sched = false;
  static void describe(auto&& p) {
    p("func", &AdversarialParams::func,
      "The discriminator minimises -log D(x) - log(1 - D(G)), the generator log(1 - D(G)) (original) or -log D(G) "
      "(modified). wasserstein: the critic minimises D(x) - D(G), the generator D(G). neon reported the costs of "
      "original "
      "and modified crossed; their gradients were these.",
      one_of({"modified", "original", "wasserstein"}), Alias{"cost_type"});
    p("k", &AdversarialParams::k, "Steps of the discriminator for each of the generator.", closed(1, 1e6),
      Alias{"n_extra"});
    p("wgan_param_clamp", &AdversarialParams::wgan_param_clamp,
      "Largest element of the discriminator's weights after an update; 0: any.", at_least(0), Alias{"clamp"});
    p("wgan_train_sched", &AdversarialParams::wgan_train_sched,
      "Gives the critic 100 steps before each of the generator's first 25, and before every 500th.");
  }
};

Expr mean_over(Expr each) { return reshape(mean(each, all_axes(each.shape())), {1, 1}); }
Expr minus_log(Expr p) { return -apply("safelog", p); }

struct Adversarial : Parametrized<Rule, AdversarialParams> {
  using Parametrized::Parametrized;

  std::string objection(const Network& network) const override {
    if (!net(network) || !network.is_single())
      return text("Adversarial trains a net of one layer, GenerativeAdversarial; the last layer is ",
                  network.last().name, " (", network.last().kind, ")");
    return "";
  }

  int players() const override { return 2; }
  int64_t moves_before(int player, int64_t steps) const override {
    if (player == kDiscriminator) return steps;
    if (!params.wgan_train_sched) return steps / params.k;
    int64_t moves = 0;
    while ((steps -= critics_moves(moves)) >= 0) ++moves;
    return moves;
  }
  int branch_of(int player) const override {
    return player == kDiscriminator ? int(kDiscriminatorBranch) : int(kGeneratorBranch);
  }
  double clamp(int player) const override { return player == kDiscriminator ? params.wgan_param_clamp : 0; }

  Step step(const RuleBatch& batch) const override {
    if (size_of(batch.context.dtype) == 2)
      fail(ErrorKind::config, "rule: Adversarial trains in f32 or f64, the run is in ", batch.context.dtype,
           "; give -d f32");
    return batch.player == kDiscriminator ? discriminator_step(batch) : generator_step(batch);
  }

  Measures measure(const RuleBatch& batch) const override {
    const Expr real = real_samples(batch), made = made_samples(batch, real);
    const Expr of_made = judged(batch, made);
    batch.context.again = true;
    const Expr of_real = judged(batch, real);
    batch.context.again = false;
    return {of_real, cost_of_discriminator(of_real, of_made), {of_real, of_made}};
  }

  std::vector<Metric::Result> results() const override {
    return {{"DataScore", false, Metric::Better::higher}, {"NoiseScore", false, Metric::Better::higher}};
  }

 private:
  static const GenerativeAdversarial* net(const Network& network) {
    Container* const container = network.last().layer->container();
    return container ? container->adversarial() : nullptr;
  }
  bool is_wasserstein() const { return params.func == "wasserstein"; }
  int64_t critics_moves(int64_t move) const {
    return move < kFirstMoves || move % kEvery == 0 ? kCriticsMoves : params.k;
  }

  static Expr real_samples(const RuleBatch& batch) { return batch.network.images_in(batch.context, batch.x); }

  // As samples lie: (N,H,W,C), or (N,F).
  static Expr made_samples(const RuleBatch& batch, Expr real) {
    LayerContext& context = batch.context;
    const Expr noise = net(batch.network)->noise(context, batch.network.last().name, batch.size);
    const Expr made = batch.network.forward_branch(context, kGeneratorBranch, noise);
    if (made.shape() == real.shape()) return made;
    if (made.shape().elements() != real.shape().elements())
      fail(ErrorKind::config, "layers: the generator makes samples ", context.sample_shape(made), ", the data set has ",
           context.sample_shape(real), "; its last layer must give as many numbers");
    return reshape(made, real.shape());
  }

  // D(x) (N,1) in f32 or f64.
  Expr judged(const RuleBatch& batch, Expr x) const {
    LayerContext& context = batch.context;
    const Expr y = as_rows(batch.network.forward_branch(context, kDiscriminatorBranch, x));
    if (y.shape()[1] != 1)
      fail(ErrorKind::config, "layers: the discriminator gives ", y.shape()[1],
           " numbers for a sample; end it with one, as Affine: {nout: 1} does");
    if (!is_wasserstein() && !is_probability(y))
      fail(ErrorKind::config, "layers: the cost ", params.func,
           " takes a discriminator whose output is a probability; ",
           "give its last layer activation: Logistic, or the rule func: wasserstein");
    return cast(y, context.arithmetic_dtype);
  }

  Expr cost_of_discriminator(Expr of_real, Expr of_made) const {
    if (is_wasserstein()) return of_real - of_made;
    return minus_log(of_real) + minus_log(1.0 - of_made);
  }

  // The generator is held; the running statistics of its batch norm follow its own steps.
  Step discriminator_step(const RuleBatch& batch) const {
    LayerContext& context = batch.context;
    const Expr real = real_samples(batch);
    const Expr made = apply("stop_gradient", made_samples(batch, real));
    context.state_updates.clear();
    const Expr of_made = judged(batch, made);
    context.again = true;
    const Expr of_real = judged(batch, real);
    context.again = false;
    const Expr cost = mean_over(cost_of_discriminator(of_real, of_made));
    return {cost, cost};
  }

  Step generator_step(const RuleBatch& batch) const {
    LayerContext& context = batch.context;
    const Expr made = made_samples(batch, real_samples(batch));
    const auto own = context.state_updates;
    const Expr of_made = judged(batch, made);
    context.state_updates = own;
    const Expr each = is_wasserstein()            ? of_made
                      : params.func == "original" ? -minus_log(1.0 - of_made)
                                                  : minus_log(of_made);
    const Expr cost = mean_over(each);
    return {cost, cost};
  }
};
NEON_REGISTER(
    Rule, Adversarial,
    "Trains the generator and the discriminator of GenerativeAdversarial in turns. The discriminator's cost is "
    "the run's, the generator's the series cost/generator of the metrics file. An evaluation reports the means "
    "of D for samples and for made ones.");

}  // namespace

}  // namespace neon
