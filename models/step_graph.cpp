#include "models/step_graph.h"

#include <algorithm>

#include "backends/graph/op.h"

namespace neon {

namespace {

struct Batch {
  Expr x, t;
};

Expr scaled(Expr raw, const DataLayout& data, DType dtype) {
  const DType arithmetic = dtype == DType::f64 ? DType::f64 : DType::f32;
  Expr x = cast(raw, arithmetic);
  if (data.scale != 1) x = x * double(data.scale);
  if (data.shift != 0) x = x + double(data.shift);
  return cast(x, dtype);
}

Batch batch_of(Graph& graph, const DataLayout& data, int64_t set_size, const StepOptions& options) {
  Scope scope(graph, "batch");
  const Shape rows{set_size};
  Value indices = graph.input("indices", DType::i32, {options.batch});
  Value all = graph.input("data", data.data_dtype, rows.concat(data.sample));
  Batch out;
  out.x = scaled({graph, gather(graph, all, indices)}, data, options.dtype);
  const DType cost_dtype = options.dtype == DType::f64 ? DType::f64 : DType::f32;
  if (data.target_is_input) {
    out.t = cast(as_rows(out.x), cost_dtype);
    return out;
  }
  Expr target(graph, gather(graph, graph.input("targets", data.target_dtype, rows.concat(data.target)), indices));
  if (data.classes > 0) {
    Expr classes(graph, iota(graph, {1, data.classes}, 1));
    target = apply("equal", target, classes);
  }
  out.t = cast(as_rows(target), cost_dtype);
  return out;
}

// Costs and metrics are computed in f32 whatever the net's type.
Expr wide(Expr y) { return as_rows(cast(y, y.dtype() == DType::f64 ? DType::f64 : DType::f32)); }

// The net's outputs for the cost. Softmax and Logistic stay the last op, so that the cost finds their logits.
Expr cost_output(Expr y) {
  if (y.dtype() == DType::f64 || y.dtype() == DType::f32) return as_rows(y);
  const Node& node = y.graph().producer(y);
  if (node.op->name == "softmax" || node.op->name == "logistic")
    return as_rows({y.graph(), y.graph().add(node.op->name, {wide({y.graph(), node.inputs[0]})})});
  return wide(y);
}

void describe_output(StepGraph& step, Expr y) {
  step.last_op = y.graph().producer(y).op->name;
  step.outputs = as_rows(y).shape()[1];
}

Expr mean_cost(const Cost& cost, Expr y, Expr t) {
  Scope scope(y.graph(), "cost");
  Expr each = cost.apply(y, t);
  return mean(each, all_axes(each.shape()));
}

Expr check_finite(Graph& graph, Expr cost, const std::vector<Value>& gradients) {
  Scope scope(graph, "finite");
  Expr bad = 1.0 - apply("is_finite", cost);
  for (Value gradient : gradients) {
    Expr g(graph, gradient);
    Expr count = sum(1.0 - apply("is_finite", g), all_axes(g.shape()));
    bad = bad + count;  // one number each, of whatever rank
  }
  return apply("equal", bad, bad.constant(0));
}

class Updater {
 public:
  Updater(StepGraph& step, const Optimizer& optimizer, const StepOptions& options)
      : step_(step), optimizer_(optimizer), options_(options) {}

  void run(LayerContext& context, Expr cost, const std::vector<Value>& raw) {
    Graph& graph = step_.graph;
    std::vector<Expr> gradients;
    for (Value g : raw) gradients.push_back(unscaled({graph, g}));
    std::vector<Value> checked;
    for (size_t i = 0; i < gradients.size(); ++i)
      if (step_.parameters[i].trained) checked.push_back(gradients[i]);
    Expr finite = check_finite(graph, cost, checked);
    graph.output("finite", finite);
    group(gradients);
    for (size_t i = 0; i < gradients.size(); ++i)
      if (step_.parameters[i].trained) update(i, gradients[i], finite);
    for (const Assignment& a : context.state_updates) graph.assign(a.variable, a.value, finite);
  }

 private:
  Expr unscaled(Expr g) const {
    if (size_of(options_.dtype) > 2) return g;
    return g * Expr(step_.graph, step_.graph.constant(1)) / Expr(step_.graph, step_.graph.scalar("loss_scale"));
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
      clip_.push_back(squares.value() ? limit / maximum(sqrt(squares), squares.constant(limit)) : Expr(graph, Value{}));
    }
  }

  void update(size_t i, Expr gradient, Expr finite) {
    Graph& graph = step_.graph;
    const Parameter& p = step_.parameters[i];
    const Optimizer& rule = *step_.optimizers[serves_[i]];
    Scope scope(graph, "update");
    if (clip_[serves_[i]].value()) gradient = gradient * clip_[serves_[i]];
    if (const double limit = rule.common.gradient_clip_value; limit > 0)
      gradient = maximum(minimum(gradient, limit), -limit);
    Expr weight(graph, graph.variable(p.name, gradient.dtype(), p.shape));
    UpdateContext context(graph, p.name, weight, gradient, {graph, graph.scalar(text("rate/", serves_[i]))},
                          {graph, graph.scalar("step")}, {graph, graph.scalar("epoch")}, finite);
    Expr updated = rule.update(context);
    if (const double limit = rule.common.param_clip_value; limit > 0)
      updated = maximum(minimum(updated, limit), -limit);
    graph.assign(weight, updated, finite);
    if (options_.ema_decay > 0) {
      Expr running(graph, graph.variable(p.name + "/ema", weight.dtype(), p.shape));
      graph.assign(running, options_.ema_decay * running + (1 - options_.ema_decay) * updated, finite);
    }
  }

  StepGraph& step_;
  const Optimizer& optimizer_;
  const StepOptions& options_;
  std::vector<size_t> serves_;
  std::vector<Expr> clip_;
};

}  // namespace

StepGraph training_graph(const Network& network, const Cost& cost, const Optimizer& optimizer, const DataLayout& data,
                         const StepOptions& options) {
  StepGraph step;
  Graph& graph = step.graph;
  LayerContext context(graph, true, options.dtype, options.seed);
  context.caffe = options.caffe;
  const Batch batch = batch_of(graph, data, data.train_size, options);
  Expr y = network.forward(context, batch.x);
  describe_output(step, y);
  Expr average = mean_cost(cost, cost_output(y), batch.t);
  graph.output("cost", average);
  step.parameters = context.parameters;
  step.states = context.states;
  std::vector<Value> wanted;
  for (const Parameter& p : step.parameters) wanted.push_back(graph.variable(p.name, context.master_dtype, p.shape));
  Expr objective = average;
  if (cost.gradient_scale() != 1) objective = objective * cost.gradient_scale();
  if (size_of(options.dtype) == 2) objective = objective * Expr(graph, graph.scalar("loss_scale"));
  const auto derived = gradients(graph, objective, wanted);
  for (size_t i = 0; i < derived.size(); ++i)
    if (!derived[i]) step.parameters[i].trained = false;
  std::vector<Value> usable = derived;
  for (size_t i = 0; i < usable.size(); ++i)
    if (!usable[i]) usable[i] = broadcast_to(graph, graph.constant(0, context.master_dtype), step.parameters[i].shape);
  Updater(step, optimizer, options).run(context, average, usable);
  return step;
}

StepGraph gradient_graph(const Network& network, const Cost& cost, const DataLayout& data, const StepOptions& options,
                         bool backward) {
  StepGraph step;
  Graph& graph = step.graph;
  LayerContext context(graph, true, options.dtype, options.seed);
  context.caffe = options.caffe;
  const Batch batch = batch_of(graph, data, data.train_size, options);
  Expr y = network.forward(context, batch.x);
  describe_output(step, y);
  Expr average = mean_cost(cost, cost_output(y), batch.t);
  graph.output("cost", average);
  step.parameters = context.parameters;
  step.states = context.states;
  if (!backward) return step;
  std::vector<Value> wanted;
  for (const Parameter& p : step.parameters) wanted.push_back(graph.variable(p.name, context.master_dtype, p.shape));
  const auto derived = gradients(graph, average, wanted);
  for (size_t i = 0; i < derived.size(); ++i)
    if (derived[i]) graph.output("grad/" + step.parameters[i].name, derived[i]);
  return step;
}

StepGraph evaluation_graph(const Network& network, const Cost* cost, const std::vector<const Metric*>& metrics,
                           const DataLayout& data, int64_t set_size, const StepOptions& options) {
  StepGraph step;
  Graph& graph = step.graph;
  LayerContext context(graph, false, options.dtype, options.seed);
  context.caffe = options.caffe;
  const bool measured = cost || !metrics.empty();
  DataLayout layout = data;
  if (!measured) layout.target_is_input = true;
  const Batch batch = batch_of(graph, layout, set_size, options);
  Expr y = network.forward(context, batch.x);
  describe_output(step, y);
  step.parameters = context.parameters;
  step.states = context.states;
  graph.output("y", wide(y));
  if (!measured) return step;
  const DType dtype = options.dtype == DType::f64 ? DType::f64 : DType::f32;
  Expr weight(graph, graph.input("weight", dtype, {options.batch, 1}));
  if (cost) {
    Scope scope(graph, "cost");
    Expr each = cost->apply(cost_output(y), batch.t) * weight;
    graph.output("cost", sum(each, all_axes(each.shape())));
  }
  for (size_t i = 0; i < metrics.size(); ++i) {
    Scope scope(graph, text("metric ", i));
    const auto sums = metrics[i]->sums(wide(y), batch.t, weight);
    for (size_t j = 0; j < sums.size(); ++j) graph.output(text("metric/", i, "/", j), sums[j]);
  }
  return step;
}

}  // namespace neon
