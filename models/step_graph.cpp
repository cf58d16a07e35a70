#include "models/step_graph.h"

#include <algorithm>
#include <cmath>

#include "backends/graph/ops.h"
#include "backends/graph/passes.h"
#include "models/batch.h"
#include "models/check_outputs.h"
#include "models/histograms.h"
#include "neon/core/message.h"

namespace neon {

namespace {

// Variable (1): how many batches since the last update had a gradient that was not finite.
constexpr const char* kSpoiltBatches = "accumulate_spoilt";

// Outputs are images (C,H,W) to people, and so are targets, unless those are the samples themselves, which lie as the
// net has them.
// With a class for each pixel, the outputs of a pixel lie side by side.
void say_order(LayerContext& context, const DataLayout& data, const StepOptions& options, bool measured) {
  context.data_channels_last = channels_last(data, options);
  context.outputs_channels_last =
      measured && ((data.target_is_input && context.data_channels_last) || data.labels_pixels());
}

// The largest number of so many bits of mantissa that is not above x > 0: stochastic rounding stays below it.
double of_kept_bits(double x, int bits) {
  int exponent = 0;
  const double mantissa = std::frexp(x, &exponent);  // in [0.5, 1)
  return std::ldexp(std::floor(std::ldexp(mantissa, bits + 1)), exponent - bits - 1);
}

// Costs and metrics are computed in f32 whatever the net's type.
Expr wide(Expr y) { return as_rows(cast(y, y.dtype() == DType::f64 ? DType::f64 : DType::f32)); }

bool are_images(Expr y) {
  return std::ranges::count_if(y.shape().slice(1, y.shape().rank()), [](int64_t size) { return size > 1; }) > 1;
}

// The mean of what was made of the views of each sample, y (views N,...) -> (N,...).
Expr mean_of_views(Expr y, int64_t views) {
  if (views == 1) return y;
  const Shape each = Shape{y.shape()[0] / views}.concat(y.shape().slice(1, y.shape().rank()));
  const Expr all = reshape(cast(y, y.dtype() == DType::f64 ? DType::f64 : DType::f32), Shape{views}.concat(each));
  return reshape(mean(all, {0}), each);
}

// The targets that outputs are compared with: a mask may stand behind them.
Expr compared(const Cost* cost, const DataLayout& data, Expr t) {
  if (!cost || !cost->masks()) return t;
  const int64_t width = t.shape()[1];
  if (data.target_is_input || data.classes > 0 || width % 2)
    fail(ErrorKind::config, "cost: expected targets followed by a mask of as many numbers, but the data set has ",
         data.target_is_input ? text("none of its own")
         : data.classes > 0   ? text("labels of classes")
                              : text(width, " numbers, which is odd"));
  return {t.graph(),
          t.graph().add(ops::slice, {t}, {{"axis", int64_t(1)}, {"first", int64_t(0)}, {"count", width / 2}})};
}

// All outputs of the net (N,...), the last layer's first. With a class for each pixel as (N H W,K): a pixel is to costs
// and metrics what a sample is otherwise.
std::vector<Expr> all_outputs(const LayerContext& context, const DataLayout& data, Expr y) {
  std::vector<Expr> out = {y};
  out.insert(out.end(), context.more_outputs.begin(), context.more_outputs.end());
  for (Expr& output : out)
    if (data.labels_pixels())
      output = reshape(output, {output.shape().elements() / output.shape().back(), output.shape().back()});
  return out;
}

// The cost of each sample (N,1), by all outputs of the net; the mean over its pixels where each has a class.
Expr cost_of(const LayerContext& context, const DataLayout& data, const Cost& cost, Expr y, Expr t) {
  Scope scope(y.graph(), "cost");
  std::vector<Expr> outputs = all_outputs(context, data, y);
  for (Expr& output : outputs) output = wide(output);
  const Expr each = cost.apply_all(outputs, t);
  const int64_t samples = y.shape()[0];
  if (!data.labels_pixels()) return each;
  return reshape(mean(reshape(each, {samples, each.shape()[0] / samples}), {1}), {samples, 1});
}

// The weight of each row of targets t, (rows,1), from that of each sample (N,1): the pixels of a sample share its
// weight.
Expr weight_of_rows(Expr weight, Expr t) {
  const int64_t samples = weight.shape()[0], pixels = t.shape()[0] / samples;
  if (pixels == 1) return weight;
  const Expr shared = weight * (1 / double(pixels));
  return reshape({t.graph(), broadcast_to(t.graph(), shared, {samples, pixels})}, {samples * pixels, 1});
}

// The op of the activation that made y, whatever moved its numbers since.
std::string activation_of(Expr y) {
  const Node* node = &y.graph().producer(y);
  while (node->op->is(ops::reshape) || node->op->is(ops::transpose)) node = &y.graph().producer(node->inputs[0]);
  return std::string(node->op->name);
}

void describe_outputs(StepGraph& step, const LayerContext& context, const DataLayout& data, Expr y) {
  for (const Expr output : all_outputs(context, data, y)) {
    const Expr rows = as_rows(output);
    step.outputs.push_back({rows.shape()[1], activation_of(rows)});
  }
}

// A gradient before it was widened: it is half as many bytes to read, and the update shares nothing with the check.
Expr as_made(Graph& graph, Value gradient) {
  const Node& maker = graph.producer(gradient);
  const bool widened =
      maker.op->is(ops::cast) && size_of(graph.dtype(maker.inputs[0])) < size_of(graph.dtype(gradient));
  return {graph, widened ? maker.inputs[0] : gradient};
}

Expr check_finite(Graph& graph, Expr cost, const std::vector<Value>& gradients) {
  Scope scope(graph, "finite");
  Expr bad = reshape(1.0 - apply("is_finite", cost), {1});
  for (Value gradient : gradients) {
    Expr is_finite = cast(apply("is_finite", as_made(graph, gradient)), bad.dtype());
    Expr count = sum(1.0 - is_finite, all_axes(is_finite.shape()));
    bad = bad + count;  // one number each, of whatever rank
  }
  return apply("equal", bad, bad.constant(0));
}

// The arrays to derive gradients for: the stored arrays of all parameters.
std::vector<Value> stored_parameters(StepGraph& step, const LayerContext& context) {
  std::vector<Value> out;
  for (const Parameter& p : step.parameters) out.push_back(step.graph.variable(p.name, context.master_dtype, p.shape));
  return out;
}

class Updater {
 public:
  Updater(StepGraph& step, const Optimizer& optimizer, const StepOptions& options, DType master_dtype)
      : step_(step), optimizer_(optimizer), options_(options), master_dtype_(master_dtype) {}

  void run(LayerContext& context, Expr cost, const std::vector<Value>& raw) {
    Graph& graph = step_.graph;
    std::vector<Expr> gradients;
    for (Value g : raw) gradients.push_back(unscaled({graph, g}));
    std::vector<Value> checked;
    for (size_t i = 0; i < gradients.size(); ++i)
      if (step_.parameters[i].trained) checked.push_back(raw[i]);
    Expr finite = check_finite(graph, cost, checked);
    graph.output("finite", finite);
    guard_ = finite;
    add_histograms(step_, options_.histograms, stored_parameters(step_, context), {gradients.begin(), gradients.end()});
    if (options_.accumulate > 1) accumulate(gradients, finite);
    group(gradients);
    for (size_t i = 0; i < gradients.size(); ++i)
      if (step_.parameters[i].trained) update(i, gradients[i]);
    for (const Assignment& a : context.state_updates) update_state(a, finite);
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

  // Adds the gradients up in variables until the host applies them; what is left in `gradients` is their mean.
  // Gradients that are not finite spoil their sum, so an update that would use it is left out, like the update of one
  // large batch with such a sample; the sums start again all the same.
  void accumulate(std::vector<Expr>& gradients, Expr finite) {
    Graph& graph = step_.graph;
    Scope scope(graph, "accumulate");
    Expr apply_now = recorded("apply"), mean = recorded("mean");
    Expr spoilt(graph, graph.variable(kSpoiltBatches, finite.dtype(), finite.shape()));
    Expr now_spoilt = spoilt + (1.0 - finite);
    graph.assign(spoilt, apply("select", apply_now, spoilt.constant(0), now_spoilt));
    guard_ = apply_now * apply("equal", now_spoilt, spoilt.constant(0));
    for (size_t i = 0; i < gradients.size(); ++i) {
      const Parameter& p = step_.parameters[i];
      if (!p.trained) continue;
      Expr sum(graph, graph.variable(p.name + "/sum", gradients[i].dtype(), p.shape));
      Expr total = sum + (options_.weight == 1 ? gradients[i] : gradients[i] * options_.weight);
      graph.assign(sum, apply("select", apply_now, sum.constant(0), total));
      gradients[i] = total * mean;
    }
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
      for (size_t i = 0; limit > 0 && i < gradients.size(); ++i) {
        if (serves_[i] != k || !step_.parameters[i].trained) continue;
        Expr part = sum(square(gradients[i]), all_axes(gradients[i].shape()));
        squares = squares.value() ? squares + part : part;
      }
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
    if (const Expr clip = clip_[serves_[i]]; clip.value()) {
      if (rule.clips_step()) rate = rate * clip;
      else gradient = gradient * clip;
    }
    UpdateContext context(graph, p.name, weight, gradient, rate, recorded("update"), recorded("epoch"), guard_);
    Expr updated = rule.update(context);
    if (const double given = rule.common.param_clip_value; given > 0) {
      const double limit = options_.rounding > 0 ? of_kept_bits(given, options_.rounding) : given;
      updated = maximum(minimum(updated, limit), -limit);
    }
    if (options_.rounding > 0)
      updated = round_stochastic(updated, master_dtype_, options_.rounding, options_.seed, p.name + "/round");
    graph.assign(stored, updated, guard_);
    average(p.name, cast(updated, weight.dtype()));
  }

  // Statistics of the averaged weights are means over the same updates: those of the last weights do not suit them.
  void update_state(const Assignment& a, Expr finite) {
    step_.graph.assign(a.variable, a.value, finite);
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
  std::vector<Expr> clip_;  // a factor (1) for each optimizer; invalid: none
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
      fail(ErrorKind::config, "optimizer: no layer with parameters is named or of class '", name, "'",
           did_you_mean(name, known), " (known: ", list_text(known), ")");
}

// The forward pass of a training batch and its mean cost, the output `cost`.
Expr training_pass(StepGraph& step, LayerContext& context, const Network& network, const Cost& cost,
                   const DataLayout& data, const StepOptions& options) {
  context.caffe = options.caffe;
  say_order(context, data, options, true);
  const Batch batch = batch_of(step.graph, data, data.rows(), options, true);
  Expr y = network.forward(context, batch.x);
  check_outputs(network, context, data, batch, compared(&cost, data, batch.t), y);
  describe_outputs(step, context, data, y);
  const Expr each = cost_of(context, data, cost, y, batch.t);
  Scope scope(step.graph, "cost");
  const Expr average(step.graph, on_logits(step.graph, mean(each, all_axes(each.shape()))));
  step.graph.output("cost", average);
  step.parameters = context.parameters;
  step.states = context.states;
  return average;
}

}  // namespace

bool belongs_to_step(std::string_view variable) { return variable == kSpoiltBatches; }

StepGraph training_graph(const Network& network, const Cost& cost, const Optimizer& optimizer, const DataLayout& data,
                         const StepOptions& options) {
  StepGraph step;
  Graph& graph = step.graph;
  LayerContext context(graph, true, options.dtype, options.seed, options.rounding == 0);
  const Expr average = training_pass(step, context, network, cost, data, options);
  check_mentions(step, optimizer);
  const std::vector<Value> wanted = stored_parameters(step, context);
  Expr objective = average;
  {
    Scope scope(graph, "cost");
    if (cost.gradient_scale() != 1) objective = objective * cost.gradient_scale();
    if (size_of(options.dtype) == 2) objective = objective * Expr(graph, graph.scalar("loss_scale"));
  }
  const auto derived = gradients(graph, objective, wanted);
  for (size_t i = 0; i < derived.size(); ++i)
    if (!derived[i]) step.parameters[i].trained = false;
  std::vector<Value> usable = derived;
  for (size_t i = 0; i < usable.size(); ++i)
    if (!usable[i]) usable[i] = broadcast_to(graph, graph.constant(0, context.master_dtype), step.parameters[i].shape);
  Updater(step, optimizer, options, context.master_dtype).run(context, average, usable);
  return step;
}

StepGraph gradient_graph(const Network& network, const Cost& cost, const DataLayout& data, const StepOptions& options,
                         bool backward) {
  StepGraph step;
  Graph& graph = step.graph;
  LayerContext context(graph, true, options.dtype, options.seed, options.rounding == 0);
  const Expr average = training_pass(step, context, network, cost, data, options);
  if (!backward) return step;
  const std::vector<Value> wanted = stored_parameters(step, context);
  const auto derived = gradients(graph, average, wanted);
  for (size_t i = 0; i < derived.size(); ++i)
    if (derived[i]) graph.output("grad/" + step.parameters[i].name, derived[i]);
  return step;
}

StepGraph evaluation_graph(const Network& network, const Cost* cost, const std::vector<const Metric*>& metrics,
                           const DataLayout& data, int64_t set_size, const StepOptions& options) {
  StepGraph step;
  Graph& graph = step.graph;
  LayerContext context(graph, false, options.dtype, options.seed, options.rounding == 0);
  context.caffe = options.caffe;
  const bool measured = cost || !metrics.empty();
  say_order(context, data, options, measured);
  DataLayout layout = data;
  if (!measured) layout.target_is_input = true, layout.classes = 0;
  const Batch batch = batch_of(graph, layout, set_size, options, false);
  Expr y = network.forward(context, batch.x);
  if (batch.views > 1 && (data.target_is_input || are_images(y)))
    fail(ErrorKind::config, "augment: `average` is for outputs that all views of an image share, such as ",
         "classes; here they are images, leave it out");
  if (measured) check_outputs(network, context, data, batch, compared(cost, data, batch.t), y);
  describe_outputs(step, context, layout, y);
  step.views = batch.views;
  y = mean_of_views(y, batch.views);
  for (Expr& more : context.more_outputs) more = mean_of_views(more, batch.views);
  step.parameters = context.parameters;
  step.states = context.states;
  graph.output("y", wide(y));
  if (!measured) return step;
  const Expr t = compared(cost, data, batch.t);
  const DType dtype = options.dtype == DType::f64 ? DType::f64 : DType::f32;
  Expr weight(graph, graph.input("weight", dtype, {options.batch, 1}));
  if (cost) {
    Scope scope(graph, "cost");
    Expr each = cost_of(context, data, *cost, y, batch.t) * weight;
    graph.output("cost", on_logits(graph, sum(each, all_axes(each.shape()))));
  }
  for (size_t i = 0; i < metrics.size(); ++i) {
    Scope scope(graph, text("metric ", i));
    std::vector<Expr> outputs = all_outputs(context, data, y);
    for (Expr& output : outputs) output = wide(output);
    const auto sums = metrics[i]->sums_of_all(outputs, t, weight_of_rows(weight, t));
    for (size_t j = 0; j < sums.size(); ++j) graph.output(text("metric/", i, "/", j), sums[j]);
  }
  return step;
}

}  // namespace neon
