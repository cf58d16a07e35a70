#include "models/step_graph.h"

#include <algorithm>

#include "backends/graph/ops.h"
#include "backends/graph/passes.h"
#include "models/batch.h"
#include "models/check_outputs.h"
#include "models/updater.h"
#include "neon/core/key_error.h"

namespace neon {

namespace {

// Outputs are images (C,H,W) to people, and so are targets, unless those are the samples themselves, which lie as the
// net has them.
// With a class for each pixel, the outputs of a pixel lie side by side.
void say_order(LayerContext& context, const DataLayout& data, const StepOptions& options, bool measured) {
  context.data_channels_last = channels_last(data, options);
  context.outputs_channels_last =
      measured && ((data.target_is_input && context.data_channels_last) || data.label_of == LabelOf::pixel);
  context.data_axes = data.batch_axes();
  context.tokens = data.tokens;
  context.classes = data.classes;
  if (!data.streams || !measured) return;
  context.streams = options.streams > 0 ? options.streams : options.batch;
  context.carried_prefix = options.carried_prefix;
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
    fail_about("cost", "expected targets followed by a mask of as many numbers, but the data set has ",
               data.target_is_input ? text("none of its own")
               : data.classes > 0   ? text("labels of classes")
                                    : text(width, " numbers, which is odd"));
  return {t.graph(),
          t.graph().add(ops::slice, {t}, {{"axis", int64_t(1)}, {"first", int64_t(0)}, {"count", width / 2}})};
}

// All outputs of the net (N,...), the last layer's first. With a class for each pixel or step as (N H W,K) or (N T,K):
// a pixel or step is to costs and metrics what a sample is otherwise.
std::vector<Expr> all_outputs(const LayerContext& context, const DataLayout& data, Expr y) {
  std::vector<Expr> out = {y};
  out.insert(out.end(), context.more_outputs.begin(), context.more_outputs.end());
  for (Expr& output : out)
    if (data.label_of != LabelOf::sample)
      output = reshape(output, {output.shape().elements() / output.shape().back(), output.shape().back()});
  return out;
}

// The cost of each row of targets t, (rows,1), by all outputs of the net.
Expr cost_of(const LayerContext& context, const DataLayout& data, const Cost& cost, Expr y, Expr t) {
  Scope scope(y.graph(), "cost");
  std::vector<Expr> outputs = all_outputs(context, data, y);
  for (Expr& output : outputs) output = wide(output);
  return cost.apply_all(outputs, t);
}

// The sum (1,1) of numbers of each step (N T,1). The numbers of a sample are added one after the other, so that zeros
// behind them, of padding, change no bit.
Expr sum_of_rows(Expr each, int64_t samples) {
  Graph& graph = each.graph();
  const Value by_sample = reshape(graph, each, {samples, each.shape()[0] / samples});
  const Expr steps(graph, transpose(graph, by_sample, {1, 0}));
  return sum(sum(steps, {0}), {1});
}

// The mean cost of a training batch: over all targets that count.
Expr mean_cost(const Batch& batch, Expr each) {
  if (!batch.counts.value()) return mean(each, all_axes(each.shape()));
  const int64_t samples = batch.x.shape()[0] / batch.views;
  return sum_of_rows(each * batch.counts, samples) / maximum(sum_of_rows(batch.counts, samples), 1);
}

// The weight of each row of targets, (rows,1), from that of each sample (N,1). The pixels of a sample share its weight.
// A step weighs as much as its sample, so that long sequences count more, and 0 without a target.
Expr weight_of_rows(const Batch& batch, Expr weight) {
  const int64_t samples = weight.shape()[0], rows = batch.t.shape()[0];
  if (rows == samples) return batch.counts.value() ? weight * batch.counts : weight;
  const Expr shared = batch.counts.value() ? weight : weight * (double(samples) / double(rows));
  Graph& graph = weight.graph();
  const Expr each = reshape({graph, broadcast_to(graph, shared, {samples, rows / samples})}, {rows, 1});
  return batch.counts.value() ? each * batch.counts : each;
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

// The forward pass of a training batch and its mean cost, the output `cost`.
Expr training_pass(StepGraph& step, LayerContext& context, const Network& network, const Cost& cost,
                   const DataLayout& data, const StepOptions& options) {
  context.caffe = options.caffe;
  say_order(context, data, options, true);
  const Batch batch = batch_of(step.graph, data, data.rows(), options, true);
  context.data_lengths = batch.lengths;
  Expr y = network.forward(context, batch.x);
  check_outputs(network, context, data, batch, compared(&cost, data, batch.t), y);
  describe_outputs(step, context, data, y);
  const Expr each = cost_of(context, data, cost, y, batch.t);
  Scope scope(step.graph, "cost");
  const Expr average(step.graph, on_logits(step.graph, mean_cost(batch, each)));
  step.graph.output("cost", average);
  step.parameters = context.parameters;
  step.states = context.states;
  return average;
}

}  // namespace

StepGraph training_graph(const Network& network, const Cost& cost, const Optimizer& optimizer, const DataLayout& data,
                         const StepOptions& options) {
  StepGraph step;
  Graph& graph = step.graph;
  LayerContext context(graph, true, options.dtype, options.seed, options.rounding == 0);
  const Expr average = training_pass(step, context, network, cost, data, options);
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
  add_update(step, optimizer, options, context, average, usable);
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
  if (!measured) layout.target_is_input = true, layout.drop_classes();
  const Batch batch = batch_of(graph, layout, set_size, options, false);
  context.data_lengths = batch.lengths;
  Expr y = network.forward(context, batch.x);
  if (batch.views > 1 && (data.target_is_input || are_images(y)))
    fail_about("augment", "`average` is for outputs that all views of an image share, such as ",
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
  for (const Assignment& a : context.carried_updates) graph.assign(a.variable, a.value);
  const Expr t = compared(cost, data, batch.t);
  const DType dtype = options.dtype == DType::f64 ? DType::f64 : DType::f32;
  const Expr weight = weight_of_rows(batch, {graph, graph.input("weight", dtype, {options.batch, 1})});
  if (batch.counts.value()) graph.output("count", sum(weight, all_axes(weight.shape())));
  if (cost) {
    Scope scope(graph, "cost");
    Expr each = cost_of(context, data, *cost, y, batch.t) * weight;
    graph.output("cost", on_logits(graph, batch.counts.value() ? sum_of_rows(each, options.batch)
                                                               : sum(each, all_axes(each.shape()))));
  }
  for (size_t i = 0; i < metrics.size(); ++i) {
    Scope scope(graph, text("metric ", i));
    std::vector<Expr> outputs = all_outputs(context, data, y);
    for (Expr& output : outputs) output = wide(output);
    const auto sums = metrics[i]->sums_of_all(outputs, t, weight);
    for (size_t j = 0; j < sums.size(); ++j) graph.output(text("metric/", i, "/", j), sums[j]);
  }
  return step;
}

}  // namespace neon
