#include "models/updater.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "backends/graph/ops.h"
#include "backends/graph/rounded_part.h"
#include "models/exchange.h"
#include "models/histograms.h"
#include "models/layer_depth.h"
#include "neon/core/key_error.h"
#include "neon/core/message.h"

namespace neon {

namespace {

// Variable (1): how many batches since the last update had a gradient that was not finite.
constexpr const char* kSpoiltBatches = "accumulate_spoilt";
// Variable (1,1): the weights of the gradients that are in the sums, where targets are counted.
constexpr const char* kWeightsTogether = "accumulate_weights";

// The largest number of so many bits of mantissa that is not above x > 0: stochastic rounding stays below it.
double of_kept_bits(double x, int bits) {
  int exponent = 0;
  const double mantissa = std::frexp(x, &exponent);  // in [0.5, 1)
  return std::ldexp(std::floor(std::ldexp(mantissa, bits + 1)), exponent - bits - 1);
}

// A gradient before it was widened: it is half as many bytes to read, and the update shares nothing with the check.
Expr as_made(Graph& graph, Value gradient) {
  const Node& maker = graph.producer(gradient);
  const bool widened =
      maker.op->is(ops::cast) && size_of(graph.dtype(maker.inputs[0])) < size_of(graph.dtype(gradient));
  return {graph, widened ? maker.inputs[0] : gradient};
}

Expr check_finite(Graph& graph, Expr cost, const std::vector<Value>& gradients, Value spoilt) {
  Scope scope(graph, "finite");
  Expr bad = reshape(1.0 - apply("is_finite", cost), {1});
  if (!gradients.empty()) bad = bad + not_finite(graph, gradients, bad.dtype());
  if (spoilt) bad = bad + Expr(graph, spoilt);
  return apply("equal", bad, bad.constant(0));
}

class Updater {
 public:
  Updater(StepGraph& step, const Optimizer& optimizer, const StepOptions& options, DType master_dtype)
      : step_(step), optimizer_(optimizer), options_(options), master_dtype_(master_dtype) {}

  void run(const LayerContext& context, Expr cost, const std::vector<Value>& raw, Value spoilt) {
    Graph& graph = step_.graph;
    std::vector<Expr> gradients;
    for (Value g : raw) gradients.push_back(unscaled({graph, g}));
    const bool apart = sums_apart(options_, options_.share.ranks);
    std::vector<Value> checked;
    for (size_t i = 0; i < gradients.size() && !apart; ++i)
      if (step_.parameters[i].trained && !(spoilt && step_.parameters[i].is_split())) checked.push_back(raw[i]);
    Expr finite = check_finite(graph, cost, checked, spoilt);
    graph.output("finite", finite);
    guard_ = finite;
    stored_ = stored_parameters(step_, context);
    add_histograms(step_, options_, stored_, {gradients.begin(), gradients.end()});
    if (apart) accumulate_apart(context, gradients, finite);
    else if (options_.accumulate > 1) accumulate(gradients, finite);
    if (options_.gradient_norm) output_norm(gradients);
    if (options_.updates) update_all(gradients);
    for (const Assignment& a : context.state_updates) update_state(a, finite);
    for (const Assignment& a : context.carried_updates) graph.assign(a.variable, a.value, finite);
  }

 private:
  Expr unscaled(Expr g) const {
    g = cast(g, compute_type(g.dtype()));
    if (size_of(options_.dtype) > 2) return g;
    return g / Expr(step_.graph, step_.graph.scalar("loss_scale"));
  }

  // A number of the step record, in the type of the stored weights.
  Expr recorded(const std::string& name) const {
    return {step_.graph, step_.graph.scalar(name, options_.dtype == DType::f64 ? DType::f64 : DType::f32)};
  }

  // A power of two, no less than the targets of a whole batch: longer padding changes no bit of a mean by it.
  double whole_weight() const { return double(std::bit_ceil(uint64_t(step_.counted->most))); }

  // How much a gradient of this step counts among those that are added up, (1,1): the targets that count by those of a
  // whole batch. Without a value: StepOptions::weight.
  Expr weight_of_step() const {
    if (!step_.counted) return {step_.graph, Value{}};
    return Expr(step_.graph, step_.counted->count) * (1.0 / whole_weight());
  }

  Expr weighted(Expr gradient, Expr weight) const {
    if (weight.value()) return gradient * fitting(weight, gradient);
    return options_.weight == 1 ? gradient : gradient * options_.weight;
  }

  // One number (1,1) as a factor of an array of any rank.
  static Expr fitting(Expr number, Expr array) { return cast(reshape(number, {}), array.dtype()); }

  // 1 by the weights that are in the sums. kept(x): what is left of them when the step ends.
  Expr mean_of_sums(Expr weight, auto&& kept) const {
    if (!weight.value()) return recorded("mean");
    const Expr sum(step_.graph, step_.graph.variable(kWeightsTogether, weight.dtype(), weight.shape()));
    const Expr total = sum + weight;
    step_.graph.assign(sum, kept(total));
    return 1.0 / maximum(total, 1.0 / whole_weight());
  }

  // Adds the gradients up in variables until the host applies them; what is left in `gradients` is their mean.
  // Gradients that are not finite spoil their sum, so an update that would use it is left out, like the update of one
  // large batch with such a sample; the sums start again all the same.
  void accumulate(std::vector<Expr>& gradients, Expr finite) {
    Graph& graph = step_.graph;
    Scope scope(graph, "accumulate");
    const Expr apply_now = recorded("apply"), weight = weight_of_step();
    Expr spoilt(graph, graph.variable(kSpoiltBatches, finite.dtype(), finite.shape()));
    Expr now_spoilt = spoilt + (1.0 - finite);
    graph.assign(spoilt, apply("select", apply_now, spoilt.constant(0), now_spoilt));
    guard_ = apply_now * apply("equal", now_spoilt, spoilt.constant(0));
    const Expr mean = mean_of_sums(weight, [&](Expr x) { return apply("select", apply_now, x.constant(0), x); });
    for (size_t i = 0; i < gradients.size(); ++i) {
      const Parameter& p = step_.parameters[i];
      if (!p.trained) continue;
      Expr sum(graph, graph.variable(p.name + "/sum", gradients[i].dtype(), p.shape));
      Expr total = sum + weighted(gradients[i], weight);
      graph.assign(sum, apply("select", apply_now, sum.constant(0), total));
      gradients[i] = total * fitting(mean, total);
    }
  }

  // The same where ranks sum apart, in a step that only adds, or in one that updates.
  void accumulate_apart(const LayerContext& context, std::vector<Expr>& gradients, Expr finite) {
    Graph& graph = step_.graph;
    Scope scope(graph, "accumulate");
    const Expr spoilt(graph, graph.variable(kSpoiltBatches, finite.dtype(), finite.shape()));
    const Expr now_spoilt = spoilt + (1.0 - finite);
    const bool updates = options_.updates;
    const auto nothing = [&](Expr x) { return Expr(graph, broadcast_to(graph, x.constant(0), x.shape())); };
    graph.assign(spoilt, updates ? nothing(spoilt) : now_spoilt);
    guard_ = apply("equal", now_spoilt, spoilt.constant(0));
    const Expr weight = weight_of_step();
    const Expr mean = mean_of_sums(weight, [&](Expr x) { return updates ? nothing(x) : x; });
    for (size_t i = 0; i < gradients.size(); ++i) {
      if (!step_.parameters[i].trained) continue;
      const Shape& shape = gradients[i].shape();
      const Expr sum(graph, graph.variable(step_.parameters[i].name + "/sum", gradients[i].dtype(), shape));
      gradients[i] = sum + weighted(gradients[i], weight);
      graph.assign(sum, updates ? nothing(sum) : gradients[i]);
    }
    if (!updates) return;
    exchange_sums(step_, context, gradients);
    for (size_t i = 0; i < gradients.size(); ++i)
      if (step_.parameters[i].trained) gradients[i] = gradients[i] * fitting(mean, gradients[i]);
  }

  void update_all(const std::vector<Expr>& gradients) {
    group(gradients);
    if (std::ranges::any_of(step_.optimizers, [](auto* rule) { return rule->common.layer_decay < 1; }))
      layers_behind_ = layers_behind(step_.graph, step_.parameters, stored_);
    for (size_t i = 0; i < gradients.size(); ++i)
      if (step_.parameters[i].trained) update(i, gradients[i]);
  }

  // The square root of the sum of all squares, before they are clipped.
  void output_norm(const std::vector<Expr>& gradients) {
    Graph& graph = step_.graph;
    Scope scope(graph, "gradient_norm");
    const Expr squares = sum_of_squares(gradients, [](size_t) { return true; });
    graph.output("gradient_norm",
                 squares.value() ? reshape(sqrt(squares), {1}) : Expr(graph, graph.constant(0, options_.dtype)));
  }

  // Sums the trained parameters for which `counts` is true, over all ranks. Without any, the result has no value.
  Expr sum_of_squares(const std::vector<Expr>& gradients, auto&& counts) {
    Expr squares, split;
    for (size_t i = 0; i < gradients.size(); ++i) {
      if (!step_.parameters[i].trained || !counts(i)) continue;
      Expr part = sum(square(gradients[i]), all_axes(gradients[i].shape()));
      Expr& all = step_.parameters[i].is_split() ? split : squares;
      all = all.value() ? all + part : part;
    }
    if (!split.value()) return squares;
    split = {step_.graph, exchange(step_.graph, {split})[0]};
    return squares.value() ? squares + split : split;
  }

  // Which optimizer serves which parameter, and the factor that clips all gradients of each to its norm.
  void group(const std::vector<Expr>& gradients) {
    Graph& graph = step_.graph;
    for (const Parameter& p : step_.parameters) {
      const Optimizer* serving = &optimizer_.serving(p.layer, p.layer_class);
      auto found = std::ranges::find(step_.optimizers, serving);
      serves_.push_back(size_t(found - step_.optimizers.begin()));
      if (found == step_.optimizers.end()) step_.optimizers.push_back(serving);
    }
    for (size_t k = 0; k < step_.optimizers.size(); ++k) {
      const double limit = step_.optimizers[k]->common.gradient_clip_norm;
      Expr squares;
      if (limit > 0) squares = sum_of_squares(gradients, [&](size_t i) { return serves_[i] == k; });
      // One number of no axes, so that it broadcasts to a parameter of any rank.
      clip_.push_back(squares.value() ? reshape(limit / maximum(sqrt(squares), squares.constant(limit)), {})
                                      : Expr(graph, Value{}));
    }
  }

  void update(size_t i, Expr gradient) {
    Graph& graph = step_.graph;
    const Parameter& p = step_.parameters[i];
    const Optimizer& rule = *step_.optimizers[serves_[i]];
    Scope scope(graph, "update");
    if (const double limit = rule.common.gradient_clip_value; limit > 0)
      gradient = maximum(minimum(gradient, limit), -limit);
    Expr stored(graph, graph.variable(p.name, master_dtype_, p.shape));
    Expr weight = cast(stored, gradient.dtype());
    Expr rate = recorded(text("rate/", serves_[i]));
    if (const double decay = rule.common.layer_decay; decay < 1) rate = rate * std::pow(decay, layers_behind_[i]);
    if (const Expr clip = clip_[serves_[i]]; clip.value()) {
      if (rule.clips_step()) rate = rate * clip;
      else gradient = gradient * clip;
    }
    UpdateContext context(graph, p.name, weight, gradient, rate, recorded("update"), recorded("epoch"), guard_,
                          p.is_split());
    Expr updated = rule.update(context);
    const double general = rule.common.param_clip_value;
    if (const double given = p.clip > 0 && (general == 0 || p.clip < general) ? p.clip : general; given > 0) {
      const double limit = options_.rounding > 0 ? of_kept_bits(given, options_.rounding) : given;
      updated = maximum(minimum(updated, limit), -limit);
    }
    if (options_.rounding > 0)
      updated = round_part_stochastic(updated, master_dtype_, options_.rounding, options_.seed, p.name + "/round",
                                      {p.part.axis, p.part.first, p.part.all});
    graph.assign(stored, updated, guard_);
    average(p.name, cast(updated, weight.dtype()));
  }

  // Statistics of the averaged weights are means over the same updates: those of the last weights do not suit them.
  void update_state(const Assignment& a, Expr finite) {
    step_.graph.assign(a.variable, a.value, finite);
    if (!options_.updates) return;
    Scope scope(step_.graph, "update");
    average(step_.graph.producer(a.variable).attributes.string("name"), {step_.graph, a.value});
  }

  // Lets the running mean of a weight or statistic follow its new value. The decay rises with the number t of updates,
  // min(ema, (1 + t) / (10 + t)), so that a short run forgets its first weights.
  void average(const std::string& name, Expr value) {
    if (options_.ema_decay == 0) return;
    Graph& graph = step_.graph;
    Expr count = recorded("update");
    Expr decay = minimum((count + 1.0) / (count + 10.0), options_.ema_decay);
    Expr running(graph, graph.variable(name + "/ema", value.dtype(), value.shape()));
    graph.assign(running, running + (1.0 - decay) * (value - running), guard_);
  }

  StepGraph& step_;
  const Optimizer& optimizer_;
  const StepOptions& options_;
  const DType master_dtype_;
  Value guard_;  // 1 where this step updates
  std::vector<size_t> serves_;
  std::vector<Value> stored_;
  std::vector<int64_t> layers_behind_;  // by parameter, where a rule has layer_decay
  std::vector<Expr> clip_;              // a factor (1) for each optimizer; invalid: none
};

// A name that serves no parameter is a slip of the pen that would leave a layer to `default`.
void check_mentions(const StepGraph& step, const Optimizer& optimizer) {
  std::vector<std::string> known;
  auto add = [&](const std::string& name) {
    if (std::ranges::find(known, name) == known.end()) known.push_back(name);
  };
  for (const Parameter& p : step.parameters) add(p.layer), add(p.layer_class);
  for (const std::string& name : optimizer.mentions())
    if (std::ranges::find(known, name) == known.end())
      fail_about("optimizer", "no layer with parameters is named or of class '", name, "'", did_you_mean(name, known),
                 " (known: ", list_text(known), ")");
}

}  // namespace

std::string class_weights_of(size_t output) { return text(kClassWeights, ':', output); }

bool has_class_weights(std::string_view variable) {
  const bool of_output = variable.starts_with(text(kClassWeights, ':')) && variable.find('/') == variable.npos;
  return variable == kClassWeights || of_output;
}

bool belongs_to_step(std::string_view variable) {
  return variable == kSpoiltBatches || variable == kWeightsTogether || has_class_weights(variable) ||
         variable.ends_with(kCarried);
}

// Phases of other parameters share a variable of this shape.
Expr not_finite(Graph& graph, const std::vector<Value>& gradients, DType dtype) {
  Expr out;
  for (Value gradient : gradients) {
    Expr is_finite = cast(apply("is_finite", as_made(graph, gradient)), dtype);
    Expr count = sum(1.0 - is_finite, all_axes(is_finite.shape()));
    out = out.value() ? out + count : count;  // one number each, of whatever rank
  }
  return reshape(out, {1});
}

std::vector<Value> stored_parameters(StepGraph& step, const LayerContext& context) {
  std::vector<Value> out;
  for (const Parameter& p : step.parameters) out.push_back(step.graph.variable(p.name, context.master_dtype, p.shape));
  return out;
}

void add_update(StepGraph& step, const Optimizer& optimizer, const StepOptions& options, const LayerContext& context,
                Expr cost, const std::vector<Value>& gradients, Value spoilt) {
  check_mentions(step, optimizer);
  Updater(step, optimizer, options, context.master_dtype).run(context, cost, gradients, spoilt);
}

}  // namespace neon
