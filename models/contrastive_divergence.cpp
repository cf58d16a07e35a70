// Contrastive divergence (Hinton 2002) and its persistent form (Tieleman 2008): the gradient of the mean free energy of
// the data minus that of samples of the machine's own, which are held fixed. It is the difference of the statistics
// <v h> of both.
#include "layers/rbm.h"
#include "models/rule.h"
#include "models/rule_ranks.h"
#include "transforms/parts.h"

namespace neon {

namespace {

struct ContrastiveDivergenceParams {
  int64_t k = 1;
  bool persistent = false;
  bool sample_visible = false;
  static void describe(auto&& p) {
    p("k", &ContrastiveDivergenceParams::k, "Steps of Gibbs sampling in each training step.", closed(1, 1000));
    p("persistent", &ContrastiveDivergenceParams::persistent,
      "Goes on with the chains of the step before instead of beginning at the data; they begin at 0.");
    p("sample_visible", &ContrastiveDivergenceParams::sample_visible,
      "Samples the visible units, too, in place of their means.");
  }
};

Expr held(Expr x) { return apply("stop_gradient", x); }

class Gibbs {
 public:
  Gibbs(LayerContext& context, const RBMArrays& rbm, const std::string& name, const ContrastiveDivergenceParams& params)
      : context_(context), rbm_(rbm), name_(name), params_(params) {}

  // One step from visible units v (N,D).
  Expr step(Expr v) {
    const Expr h = sampled(rbm_.hidden(v), "hidden");
    const Expr means = rbm_.visible(h);
    const Expr out = held(params_.sample_visible ? sampled(means, "visible") : means);
    ++number_;
    return out;
  }

 private:
  // 1 with the probability p, otherwise 0. Draws are keyed by the layer, the kind of unit and the number of the step.
  Expr sampled(Expr p, const char* kind) {
    const Expr draw = draws_of_samples(context_, p.shape(), text(name_, "/", kind, "/", number_));
    return held(cast(apply("less", cast(draw, compute_type(p.dtype())), cast(p, compute_type(p.dtype()))), p.dtype()));
  }

  LayerContext& context_;
  const RBMArrays& rbm_;
  const std::string name_;
  const ContrastiveDivergenceParams& params_;
  int64_t number_ = 0;
};

DType wide_type(Expr x) { return compute_type(x.dtype()); }

Expr average(Expr each) { return mean(cast(each, wide_type(each)), all_axes(each.shape())); }

// Sum over the units of the squared difference, (N,1).
Expr error_of(Expr v, Expr reconstruction) {
  return sum(square(cast(v, wide_type(v)) - cast(reconstruction, wide_type(v))), {1});
}

struct ContrastiveDivergence : Parametrized<Rule, ContrastiveDivergenceParams> {
  explicit ContrastiveDivergence(ContrastiveDivergenceParams given) : Parametrized(std::move(given)) {}

  std::string objection(const Network& network) const override {
    const RBM* rbm = machine(network);
    if (!rbm)
      return text("ContrastiveDivergence trains the last layer, which must be an RBM; it is ", network.last().name,
                  " (", network.last().kind, ")");
    if (params.sample_visible && rbm->params.visible != "binary")
      return "sample_visible is for binary visible units; leave it out";
    return "";
  }

  bool takes_shares(const Network& network) const override {
    const RBM* rbm = machine(network);
    return rbm && network.is_single() && rbm->params.visible == "binary";
  }

  Step step(const RuleBatch& batch) const override {
    LayerContext& context = batch.context;
    const std::string& name = batch.network.last().name;
    const Expr v = held(as_rows(batch.network.forward_to_last(context, batch.x)));
    context.layer = name;
    Scope scope(context.graph, name);
    const RBMArrays rbm(context, machine(batch.network)->params, name, v.shape()[1]);
    const Expr begin = params.persistent ? chains(context, name, v, batch) : v;
    Gibbs gibbs(context, rbm, name, params);
    Expr model = begin;
    for (int64_t i = 0; i < params.k; ++i) model = gibbs.step(model);
    if (params.persistent) keep(context, name, model, batch);
    const Expr objective = average(rbm.free_energy(v)) - average(rbm.free_energy(model));
    const Expr cost = average(error_of(v, held(rbm.visible(rbm.hidden(v)))));
    return {reshape(cost, {1, 1}), reshape(objective, {1, 1})};
  }

  Measures measure(const RuleBatch& batch) const override {
    LayerContext& context = batch.context;
    const std::string& name = batch.network.last().name;
    const Expr v = as_rows(batch.network.forward_to_last(context, batch.x));
    context.layer = name;
    Scope scope(context.graph, name);
    const RBMArrays rbm(context, machine(batch.network)->params, name, v.shape()[1]);
    const Expr hidden = rbm.hidden(v), energy = rbm.free_energy(v);
    return {hidden, error_of(v, rbm.visible(hidden)), {cast(energy, wide_type(energy))}};
  }

  std::vector<Metric::Result> results() const override { return {{"FreeEnergy", false, Metric::Better::lower}}; }

 private:
  static const RBM* machine(const Network& network) { return dynamic_cast<const RBM*>(network.last().layer.get()); }

  static Expr rows(Expr all, int64_t first, int64_t count) {
    if (count == all.shape()[0]) return all;
    return part(all, 0, first, count);
  }

  // The chains of this rank's samples (N,D), as the step before left them: a short batch goes on with the first ones.
  Expr chains(LayerContext& context, const std::string& name, Expr v, const RuleBatch& batch) const {
    const Expr all = context.state(chains_of(name), {batch.streams, v.shape()[1]}, 0);
    return held(cast(rows(all, context.share.first, batch.size), v.dtype()));
  }

  void keep(LayerContext& context, const std::string& name, Expr model, const RuleBatch& batch) const {
    const Expr all = context.expr(
        context.graph.variable(chains_of(name), context.arithmetic_dtype, {batch.streams, model.shape()[1]}));
    Expr value = rows_of_ranks(context, cast(model, context.arithmetic_dtype));
    const int64_t moved = value.shape()[0];
    if (moved < batch.streams) value = beside({value, rows(all, moved, batch.streams - moved)}, 0);
    context.update_state(all, value);
  }
};
NEON_REGISTER(Rule, ContrastiveDivergence,
              "Trains the last layer, an RBM, by k steps of Gibbs sampling. The cost is the squared error of the "
              "reconstruction, summed over the visible units; an evaluation reports the mean free energy, too.",
              {"CD"});

}  // namespace

}  // namespace neon
