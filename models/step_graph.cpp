#include "models/step_graph.h"

#include <algorithm>
#include <cmath>

#include "backends/graph/ops.h"
#include "backends/graph/passes.h"
#include "models/batch.h"
#include "models/check_outputs.h"
#include "models/coded_columns.h"
#include "models/exchange.h"
#include "models/histograms.h"
#include "models/measures.h"
#include "models/predicted_labels.h"
#include "models/several_targets.h"
#include "models/several_texts.h"
#include "models/split_cost.h"
#include "models/step_costs.h"
#include "models/updater.h"
#include "neon/core/key_error.h"
#include "neon/core/message.h"

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
  say_texts(context, data);
  say_columns(context, data);
  context.classes = data.classes;
  context.end_class = data.end_class;
  for (const NetOutput& output : options.outputs) context.output_layers.push_back(output.layer);
  context.target_steps = data.target_steps > 0 ? data.target_steps : data.sequence ? data.sample[0] : 0;
  if (!data.streams || !measured) return;
  context.streams = options.streams > 0 ? options.streams : options.batch;
  context.carried_prefix = options.carried_prefix;
}

void set_label_lengths(LayerContext& context, const DataLayout& data, const Batch& batch) {
  context.data_lengths = batch.lengths;
  if (data.label_of == LabelOf::step && data.target_steps == 0) context.label_lengths = batch.lengths;
}

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

void describe_outputs(StepGraph& step, const LayerContext& context, const DataLayout& data, const StepOptions& options,
                      Expr y) {
  for (const Expr output : all_outputs(context, data, y)) {
    const Expr rows = as_rows(output);
    step.outputs.push_back({rows.shape()[1], activation_of(rows)});
  }
  if (data.targets.empty() || data.target_is_input) return;
  const std::vector<size_t> places = targets_of_outputs(data, options);
  for (size_t i = 0; i < places.size(); ++i) {
    const NamedTarget& target = data.targets[places[i]];
    OutputForm& form = step.outputs[i];
    form.kind = target.kind, form.classes = target.classes(), form.names = target.names;
  }
}

// A rule takes every number of a sample for one to learn, padding, too.
void refuse_for_rule(const DataLayout& data) {
  refuse_embedded(data, "rule", "trains with every number of a sample");
  if (data.ragged)
    fail_about("rule",
               "trains with every number of a sample, and the data set has sequences of different lengths, whose ",
               "padding is no data; give samples of one length (sequences: false), or a cost in place of the rule");
}

// The same of a rule: the mean cost that is reported, and the number that trains; of several ranks this one's parts.
Rule::Step rule_pass(StepGraph& step, LayerContext& context, const Network& network, const Rule& rule,
                     const DataLayout& data, const StepOptions& options) {
  refuse_for_rule(data);
  context.caffe = options.caffe;
  context.freeze = options.freeze;
  context.share = options.share;
  context.shared_statistics = options.shared_statistics;
  context.wide_gradients = options.wide_gradients;
  say_order(context, data, options, false);
  const Batch batch = batch_of(step.graph, data, data.rows(), options, true);
  const bool several = options.share.ranks > 1;
  int64_t whole = options.streams > 0 ? options.streams : options.batch;
  if (several) whole = std::llround(double(options.share.whole) / options.weight);
  Rule::Step out = rule.step({context, network, batch.x, options.batch, whole, options.player});
  if (several) out.cost = out.cost * options.share.weight(), out.objective = out.objective * options.share.weight();
  if (!context.penalties.empty())
    fail(ErrorKind::config, "XCovariance stands in a net with a cost, and this net is trained by a rule; leave it out");
  step.parameters = context.parameters;
  step.states = context.states;
  const int branch = rule.branch_of(options.player);
  if (branch < 0) return out;
  const std::vector<std::string> names = network.names_in_branch(size_t(branch));
  for (Parameter& p : step.parameters) {
    p.trained = p.trained && std::ranges::count(names, p.owner);
    p.clip = rule.clamp(options.player);
  }
  return out;
}

// (N) i32: the steps of pieces of texts up to the last one with a label. Behind these, a last piece is filled up.
Value lengths_of_pieces(Graph& graph, Value labels) {
  const Shape& shape = graph.shape(labels);
  const Expr each = cast(Expr(graph, labels), DType::f32), number(graph, iota(graph, {1, shape[1]}, 1));
  const Expr places = (cast(number, DType::f32) + 1.0) * apply("greater_equal", each, each.constant(0));
  return cast(graph, reshape(max(places, {1}), {shape[0]}), DType::i32);
}

// Says how many steps of each piece of a text are filled up. Where a layer sees all steps, pieces are sequences of
// different lengths.
void set_filled_lengths(LayerContext& context, const Network& network, const DataLayout& data, const Batch& batch) {
  if (data.tokens == 0 || data.ragged || data.label_of != LabelOf::step || data.target_steps > 0) return;
  context.filled_lengths = lengths_of_pieces(context.graph, batch.labels);
  if (!network.sees_all_steps()) return;
  const Expr each = cast(context.expr(context.filled_lengths), DType::f32);
  context.data_lengths = cast(maximum(each, 1), DType::i32);
}

// The batch of a training step whose net has no rule.
Batch training_batch(StepGraph& step, LayerContext& context, const Network& network, const DataLayout& data,
                     const StepOptions& options) {
  context.caffe = options.caffe;
  context.freeze = options.freeze;
  context.share = options.share;
  context.dense = options.dense;
  context.sharded = options.sharded;
  context.shared_statistics = options.shared_statistics;
  context.wide_gradients = options.wide_gradients;
  say_order(context, data, options, true);
  Batch batch = batch_of(step.graph, data, data.rows(), options, true);
  if (!context.data_axes.empty()) step.graph.sequences = batch.x.shape()[0];
  set_label_lengths(context, data, batch);
  context.target_labels = batch.counts.value() ? batch.labels : Value();
  context.target_boxes = batch.boxes.value();
  set_filled_lengths(context, network, data, batch);
  return batch;
}

// The most targets that a whole batch of the longest sequences has, of all ranks.
int64_t most_targets(const DataLayout& data, const Batch& batch, const StepOptions& options) {
  const int64_t of_sample = batch.counts.shape()[0] / options.batch;
  const int64_t samples = options.share.count > 0 ? options.share.whole : options.batch;
  return std::llround(double(samples) / options.weight) * std::max({of_sample, data.held_steps, data.held_labels});
}

// The forward pass of a training batch and its mean cost; of several ranks this one's part of the mean.
Expr training_pass(StepGraph& step, LayerContext& context, const Network& network, const Cost& cost,
                   const DataLayout& given, const StepOptions& options) {
  const DataLayout data = layout_for(&cost, given);
  if (data.target_is_input) refuse_embedded(data, "cost", "compares outputs with the numbers of a sample");
  Batch batch = training_batch(step, context, network, data, options);
  put_masks_behind(data, batch);
  Expr y = network.forward(context, batch.x);
  end_with_sequences(context, data, y);
  if (cost.of_sequences()) check_kind(data, cost);  // before the number of outputs, which other targets ask for
  check_outputs(network, context, {data, batch, options}, compared(&cost, data, batch.t), y);
  describe_outputs(step, context, data, options, y);
  count_steps(context, data, y, batch);
  sum_counts(batch, options.share);
  if (batch.count.value()) step.counted = CountedTargets{batch.count, most_targets(data, batch, options)};
  step.parameters = context.parameters;
  step.states = context.states;
  const bool over_split = options.dense.classifier && options.share.ranks > 1;
  if (!options.outputs.empty() && !over_split) return average_of_outputs(step, context, cost, data, y, batch, options);
  Expr each = over_split ? split_cost(context, data, cost, y, batch, options) : cost_of(context, data, cost, y, batch);
  Scope scope(step.graph, "cost");
  const auto weighted = [&](Expr x) { return options.class_weights ? weighted_cost(batch, x) : x; };
  const Expr average = average_of(step, batch, weighted(each), options);
  if (!options.cost_parts || over_split) return average;
  std::vector<Expr> parts = costs_of_outputs(context, data, cost, y, batch);
  for (Expr& part : parts) part = average_of(step, batch, weighted(part), options);
  output_parts(step, cost, parts, options);
  return average;
}

// A step minimises its cost and the penalties of layers.
Expr with_penalties(const LayerContext& context, Expr cost) {
  Expr out = cost;
  for (const Expr penalty : context.penalties) out = out + reshape(cast(penalty, cost.dtype()), cost.shape());
  return out;
}

void round_results(StepGraph& step, const DataLayout& data, const StepOptions& options) {
  if (options.fixed_point) refuse_embedded(data, "fixed_point", "rounds every number of a sample");
  if (options.fixed_point) step.graph = with_fixed_point(step.graph, options.fixed_point);
}

// The arrays in which a step reads a parameter: the stored one, or all rows that ranks share, in one type or two.
std::vector<Value> read_as(const LayerContext& context, const Parameter& p, Value stored) {
  if (!p.gathered) return {stored};
  std::vector<Value> out;
  for (const LayerContext::Gathered& each : context.gathered)
    if (each.parameter == p.name) out.push_back(each.whole);
  return out;
}

// The sum of gradients, in the type of the arithmetic where there are several; some or all may be invalid.
Value sum_of(Graph& graph, std::span<const Value> gradients) {
  Value out;
  for (const Value each : gradients) {
    if (!each) continue;
    const auto wide = [&](Value x) { return Expr(graph, cast(graph, x, compute_type(graph.dtype(x)))); };
    out = out ? (wide(out) + wide(each)).value() : each;
  }
  return out;
}

// The gradient of each parameter, of all rows where ranks gather them; invalid where the parameter is not trained, or
// changes nothing.
std::vector<Value> gradients_of_parameters(StepGraph& step, const LayerContext& context, Expr objective) {
  const std::vector<Value> stored = stored_parameters(step, context);
  std::vector<Value> wanted;
  std::vector<size_t> counts;  // of wanted values, by parameter
  for (size_t i = 0; i < stored.size(); ++i) {
    const Parameter& p = step.parameters[i];
    const std::vector<Value> read = p.trained ? read_as(context, p, stored[i]) : std::vector<Value>{};
    wanted.insert(wanted.end(), read.begin(), read.end());
    counts.push_back(read.size());
  }
  const std::vector<Value> derived = gradients(step.graph, objective, wanted);
  std::vector<Value> out;
  size_t next = 0;
  for (const size_t count : counts) {
    out.push_back(sum_of(step.graph, std::span(derived).subspan(next, count)));
    next += count;
  }
  return out;
}

}  // namespace

StepGraph training_graph(const Network& network, const GradientSource& source, const Optimizer& optimizer,
                         const DataLayout& data, const StepOptions& options) {
  StepGraph step;
  Graph& graph = step.graph;
  LayerContext context(graph, true, options.dtype, options.seed, options.rounding == 0);
  Expr average, objective;
  if (source.rule) {
    const Rule::Step made = rule_pass(step, context, network, *source.rule, data, options);
    average = made.cost, objective = made.objective;
  } else {
    average = training_pass(step, context, network, *source.cost, data, options);
    Scope scope(graph, "cost");
    const double scale = source.cost->gradient_scale();  // of the cost alone: penalties have factors of their own
    objective = with_penalties(context, scale == 1 ? average : average * scale);
  }
  options.freeze.check(step.parameters);
  if (size_of(options.dtype) == 2) {
    Scope scope(graph, "cost");
    objective = objective * Expr(graph, graph.scalar("loss_scale"));
  }
  const bool learns = options.updates || sums_apart(options, options.share.ranks);
  std::vector<Value> usable(step.parameters.size());
  if (learns) usable = gradients_of_parameters(step, context, objective);
  for (size_t i = 0; i < usable.size(); ++i)
    if (!usable[i]) step.parameters[i].trained = false;
  for (size_t i = 0; i < usable.size(); ++i)
    if (!usable[i]) usable[i] = broadcast_to(graph, graph.constant(0, context.master_dtype), step.parameters[i].shape);
  Value cost_of_all = average, spoilt;
  if (sums_apart(options, options.share.ranks)) spoilt = exchange_counts(step, context, usable, cost_of_all);
  else if (options.share.ranks > 1) spoilt = exchange_parts(step, context, usable, cost_of_all);
  graph.output("cost", cost_of_all);
  if (step.counted) graph.output("count", step.counted->count);
  add_output_histograms(step, context, options);
  add_update(step, optimizer, options, context, {graph, cost_of_all}, usable, spoilt);
  round_results(step, data, options);
  return step;
}

StepGraph gradient_graph(const Network& network, const Cost& cost, const DataLayout& data, const StepOptions& options,
                         bool backward) {
  StepGraph step;
  Graph& graph = step.graph;
  LayerContext context(graph, true, options.dtype, options.seed, options.rounding == 0);
  const Expr average = training_pass(step, context, network, cost, data, options);
  if (!backward) graph.output("cost", average);
  if (!backward) return step;
  const Expr minimised = with_penalties(context, average);
  graph.output("cost", minimised);
  const auto derived = gradients_of_parameters(step, context, minimised);
  for (size_t i = 0; i < derived.size(); ++i)
    if (derived[i]) graph.output("grad/" + step.parameters[i].name, derived[i]);
  return step;
}

StepGraph statistics_graph(const Network& network, const DataLayout& data, const StepOptions& options) {
  StepGraph step;
  LayerContext context(step.graph, true, options.dtype, options.seed, options.rounding == 0);
  context.share_of_batch = Expr(step.graph, step.graph.scalar(kShareOfBatch, context.arithmetic_dtype));
  network.forward(context, training_batch(step, context, network, data, options).x);
  step.parameters = context.parameters;
  for (const Assignment& a : context.state_updates) {
    step.graph.assign(a.variable, a.value);
    const std::string& name = step.graph.producer(a.variable).attributes.string("name");
    step.states.push_back(*std::ranges::find(context.states, name, &LayerState::name));
  }
  round_results(step, data, options);
  return step;
}

StepGraph evaluation_graph(const Network& network, const Rule& rule, const DataLayout& data, int64_t set_size,
                           const StepOptions& options) {
  StepGraph step;
  Graph& graph = step.graph;
  LayerContext context(graph, false, options.dtype, options.seed, options.rounding == 0);
  refuse_for_rule(data);
  context.caffe = options.caffe;
  context.share = options.share;
  say_order(context, data, options, false);
  const Batch batch = batch_of(graph, data, set_size, options, false);
  if (batch.views > 1)
    fail_about("augment", "`average` is for outputs that all views of an image share; a rule measures ",
               "the images themselves, leave it out");
  const Rule::Measures made = rule.measure({context, network, batch.x, options.batch, options.batch, 0});
  const Expr weight(graph, graph.input("weight", made.cost.dtype(), {options.batch, 1}));
  const auto total = [&](Expr each) { return sum(each * weight, all_axes(each.shape())); };
  graph.output("y", cast(made.y, made.cost.dtype()));
  graph.output("cost", total(made.cost));
  for (size_t i = 0; i < made.results.size(); ++i) graph.output(text("metric/", i, "/0"), total(made.results[i]));
  step.parameters = context.parameters;
  step.states = context.states;
  step.outputs.push_back({as_rows(made.y).shape()[1], ""});
  round_results(step, data, options);
  return step;
}

StepGraph evaluation_graph(const Network& network, const Cost* cost, const std::vector<const Metric*>& metrics,
                           const DataLayout& given, int64_t set_size, const StepOptions& options) {
  StepGraph step;
  Graph& graph = step.graph;
  LayerContext context(graph, false, options.dtype, options.seed, options.rounding == 0);
  context.caffe = options.caffe;
  context.share = options.share;
  context.dense = options.dense;
  context.sharded = options.sharded;
  const bool measured = cost || !metrics.empty();
  const DataLayout data = measured ? layout_for(cost, given) : given;
  say_order(context, data, options, measured);
  DataLayout layout = data;
  if (!measured) layout.target_is_input = true, layout.drop_classes();
  Batch batch = batch_of(graph, layout, set_size, options, false);
  if (!context.data_axes.empty()) graph.sequences = batch.x.shape()[0];
  set_label_lengths(context, data, batch);
  context.target_labels = batch.counts.value() ? batch.labels : Value();
  if (measured) set_filled_lengths(context, network, data, batch);
  put_masks_behind(data, batch);
  context.decodes = !measured || std::ranges::any_of(metrics, &Metric::of_sequences);
  Expr y = network.forward(context, batch.x);
  end_with_sequences(context, data, y);
  if (batch.views > 1 && (data.target_is_input || are_images(y)))
    fail_about("augment", "`average` is for outputs that all views of an image share, such as ",
               "classes; here they are images, leave it out");
  if (measured) check_outputs(network, context, {data, batch, options}, compared(cost, data, batch.t), y);
  describe_outputs(step, context, layout, options, y);
  step.views = batch.views;
  const Expr last = y;
  y = mean_of_views(y, batch.views);
  for (Expr& more : context.more_outputs) more = mean_of_views(more, batch.views);
  step.parameters = context.parameters;
  step.states = context.states;
  std::vector<Expr> outputs;
  for (const Expr output : all_outputs(context, layout, y)) outputs.push_back(wide(output));
  graph.output("y", options.outputs.empty() ? wide(y) : joined_outputs(outputs));
  if (!measured) {
    const bool of_steps = data.label_of == LabelOf::step || data.label_of == LabelOf::sequence;
    if (of_steps && context.is_sequence(y))
      graph.output("predicted", cast(graph, all_predicted(context, data, y, options.blank), DType::f32));
    if (context.boxes && context.boxes->y.value() == last.value())
      graph.output("predicted", cast(graph, detections_of(context.boxes->outputs, context.boxes->chosen), DType::f32));
    const bool of_numbers = data.classes == 0 && options.outputs.empty() && y.shape().rank() == 3;
    if (const Value lengths = context.lengths(y); lengths && of_numbers)
      graph.output("own", Expr(graph, cast(graph, lengths, DType::f32)) * double(y.shape()[2]));
    round_results(step, data, options);
    return step;
  }
  for (const Assignment& a : context.carried_updates) graph.assign(a.variable, a.value);
  count_steps(context, data, y, batch);
  add_measures(graph, context, {data, batch, cost, metrics, options}, y);
  round_results(step, data, options);
  return step;
}

}  // namespace neon
