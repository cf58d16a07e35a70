#include "models/measures.h"

#include "backends/graph/passes.h"
#include "models/output_costs.h"
#include "models/predicted_labels.h"
#include "models/several_targets.h"
#include "neon/core/key_error.h"
#include "transforms/image_batch.h"
#include "transforms/parts.h"

namespace neon {

namespace {

DType cost_type(Expr y) { return y.dtype() == DType::f64 ? DType::f64 : DType::f32; }

}  // namespace

Expr wide(Expr y) { return as_rows(cast(y, cost_type(y))); }

Expr compared(const Cost* cost, const DataLayout& data, Expr t) {
  if (!cost || !cost->masks()) return t;
  const int64_t width = t.shape()[1];
  if (data.target_is_input || data.classes > 0 || width % 2)
    fail_about("cost", "expected targets followed by a mask of as many numbers, but the data set has ",
               data.target_is_input ? text("none of its own")
               : data.classes > 0   ? text("labels of classes")
                                    : text(width, " numbers, which is odd"));
  return part(t, 1, 0, width / 2);
}

bool gives_numbers_of_steps(const LayerContext& context, const DataLayout& data, Expr y) {
  const Shape& shape = y.shape();
  return data.steps_have_numbers() && context.lengths(y) && shape.rank() == 3 && shape[1] == data.sample[0] &&
         shape[2] == data.numbers_of_step();
}

DataLayout layout_for(const Cost* cost, const DataLayout& data) {
  DataLayout out = data;
  out.masked = cost && cost->masks();
  out.steps_are_targets = data.target_is_input && data.ragged && data.tokens == 0 && data.sample.rank() == 2;
  if (out.masked && out.steps_have_numbers() && out.target[1] % 2)
    fail_about("cost",
               "expected numbers for each step, followed by a mask of as many, but each step of the targets has ",
               out.target[1]);
  return out;
}

void put_masks_behind(const DataLayout& data, Batch& batch) {
  const bool of_steps = data.masked && data.sequence && data.target.rank() == 2 && data.target[1] % 2 == 0;
  if (!of_steps || data.steps_have_numbers()) return;
  Graph& graph = batch.t.graph();
  const Shape shape = batch.t.shape();
  const Value by_sample = reshape(graph, batch.t, {shape[0], data.target[0], 2, data.target[1] / 2});
  batch.t = {graph, reshape(graph, transpose(graph, by_sample, {0, 2, 1, 3}), shape)};
}

void end_with_sequences(LayerContext& context, const DataLayout& data, Expr y) {
  const Value given = context.data_lengths;
  if (!given || data.label_of == LabelOf::sequence) return;
  std::vector<Expr> outputs = context.more_outputs;
  outputs.push_back(y);
  for (const Expr& output : outputs) {
    const Value own = context.lengths(output);
    if (!own || own == given || !context.is_sequence(output) || output.shape()[1] != data.sample[0]) continue;
    context.set_lengths(output, cast(minimum(context.expr(own), context.expr(given)), DType::i32));
  }
}

namespace {

// 1 for each step (N T,1) that outputs y have, 0 for others.
Expr rows_of_steps(LayerContext& context, Expr y, DType dtype) {
  return cast(reshape(unpadded(context, y), {y.shape()[0] * y.shape()[1], 1}), dtype);
}

void count_labels_of_steps(LayerContext& context, const DataLayout& data, Expr y, Batch& batch) {
  if (data.label_of != LabelOf::step || data.target_steps > 0) return;
  const Value lengths = context.lengths(y);
  if (!lengths || lengths == context.data_lengths) return;
  batch.counts = batch.counts * rows_of_steps(context, y, batch.counts.dtype());
}

}  // namespace

void count_steps(LayerContext& context, const DataLayout& data, Expr y, Batch& batch) {
  count_labels_of_steps(context, data, y, batch);
  for (const Expr& more : context.more_outputs) count_labels_of_steps(context, data, more, batch);
  if (!gives_numbers_of_steps(context, data, y)) return;
  batch.counts = rows_of_steps(context, y, batch.t.dtype());
  for (const Expr& more : context.more_outputs) {
    if (!gives_numbers_of_steps(context, data, more))
      fail_about("cost", "compares the steps of sequences with numbers, and a branch of the Tree gives ",
                 context.sample_shape(more), " instead of ", data.target_of_steps());
    if (context.lengths(more) != context.lengths(y))
      batch.counts = batch.counts * rows_of_steps(context, more, batch.t.dtype());
  }
  Graph& graph = y.graph();
  const Expr t = reshape(batch.t, {y.shape()[0] * y.shape()[1], data.target_of_steps()[1]}),
             all(graph, broadcast_to(graph, batch.counts, t.shape()));
  batch.t = apply("select", all, t, t.constant(0));
}

std::vector<Expr> all_outputs(const LayerContext& context, const DataLayout& data, Expr y) {
  std::vector<Expr> out = {y};
  out.insert(out.end(), context.more_outputs.begin(), context.more_outputs.end());
  for (Expr& output : out)
    if ((data.label_of != LabelOf::sample && data.label_of != LabelOf::box) ||
        gives_numbers_of_steps(context, data, output))
      output = reshape(output, {output.shape().elements() / output.shape().back(), output.shape().back()});
  return out;
}

void check_kind(const DataLayout& data, const Cost& cost) {
  const bool sequences = data.label_of == LabelOf::sequence && !data.target_is_input;
  const bool objects = data.label_of == LabelOf::box && !data.target_is_input;
  if (objects && !cost.of_objects())
    fail_about("cost", "compares a target with each output, but the targets are boxes of objects; cost: MBox is for ",
               "these");
  if (!objects && cost.of_objects())
    fail_about("cost", "MBox compares what a net predicts with boxes of objects, and the data set has none; leave it ",
               "out");
  if (sequences && !cost.of_sequences())
    fail_about("cost", "compares a target with each output, but the targets are sequences of labels of their own ",
               "lengths; cost: CTC is for these, and for a Seq2Seq the data set has end_class");
  if (!sequences && cost.of_sequences())
    fail_about("cost", "CTC compares the steps of a sequence with a sequence of labels of its own length, and the ",
               "data set has ",
               data.classes == 0 ? text("no classes") : text("a class for each ", name_of(data.label_of)),
               "; label_sequences: true takes the targets of arrays for such labels");
}

namespace {

std::vector<Expr> wide_outputs(const LayerContext& context, const DataLayout& data, Expr y) {
  std::vector<Expr> outputs = all_outputs(context, data, y);
  for (Expr& output : outputs) output = wide(output);
  return outputs;
}

}  // namespace

Expr cost_of(const LayerContext& context, const DataLayout& data, const Cost& cost, Expr y, const Batch& batch) {
  Scope scope(y.graph(), "cost");
  check_kind(data, cost);
  if (cost.of_sequences()) return cost.of_sequence(cast(y, cost_type(y)), batch.labels, context.lengths(y));
  if (cost.of_objects()) return cost.of_boxes(context.boxes->outputs, batch.boxes);
  return cost.apply_all(wide_outputs(context, data, y), batch.t);
}

std::vector<Expr> costs_of_outputs(const LayerContext& context, const DataLayout& data, const Cost& cost, Expr y,
                                   const Batch& batch) {
  if (cost.of_sequences() || cost.of_objects()) return {cost_of(context, data, cost, y, batch)};
  check_kind(data, cost);
  Scope scope(y.graph(), "cost");
  return cost.parts(wide_outputs(context, data, y), batch.t);
}

namespace {

// The sum (1,1) of numbers of each step (N T,1). The numbers of a sample are added one after the other, so that zeros
// behind them, of padding, change no bit.
Expr sum_of_rows(Expr each, int64_t samples) {
  Graph& graph = each.graph();
  const Value by_sample = reshape(graph, each, {samples, each.shape()[0] / samples});
  const Expr steps(graph, transpose(graph, by_sample, {1, 0}));
  const Expr of_samples = sum(reshape(steps, {steps.shape()[0], samples, 1}), {0});
  return sum(reshape(of_samples, {1, samples}), {1});
}

}  // namespace

// Costs (rows,1) of targets t (rows,classes) times the weights in a variable.
static Expr times_weights(Expr each, Expr t, const std::string& variable) {
  Graph& graph = each.graph();
  const int64_t classes = t.shape()[1];
  const Expr weights(graph, reshape(graph, graph.variable(variable, t.dtype(), {classes}), {1, classes}));
  return each * reshape(sum(t * weights, {1}), each.shape());
}

Expr weighted_cost(const Batch& batch, Expr each) { return times_weights(each, batch.t, kClassWeights); }

std::vector<Expr> weighted_costs_of_outputs(const LayerContext& context, const DataLayout& data, const Cost& cost,
                                            Expr y, const Batch& batch, const StepOptions& options) {
  const std::vector<Expr> outputs = all_outputs(context, data, y);
  std::vector<Expr> out = costs_of_outputs(context, data, cost, y, batch);
  for (size_t i = 0; i < out.size(); ++i)
    if (options.outputs[i].class_weights)
      out[i] = times_weights(out[i], target_of(outputs, i, batch.t), class_weights_of(i));
  return out;
}

void sum_counts(Batch& batch, const BatchShare& share) {
  if (!batch.counts.value()) return;
  Graph& graph = batch.counts.graph();
  Scope scope(graph, "cost");
  Expr count = sum_of_rows(batch.counts, batch.x.shape()[0] / batch.views);
  if (share.ranks > 1) {
    if (!share.counts) count = count * 0.0;
    count = {graph, exchange(graph, {count})[0]};
  }
  batch.count = count;
}

Expr mean_cost(const Batch& batch, Expr each, const BatchShare& share) {
  const bool shared = share.ranks > 1;
  if (!batch.counts.value()) {
    const Expr average = mean(each, all_axes(each.shape()));
    return shared ? average * share.weight() : average;
  }
  Expr total = sum_of_rows(each * batch.counts, batch.x.shape()[0] / batch.views);
  if (shared && !share.counts) total = total * 0.0;
  return total / maximum(batch.count, 1);
}

namespace {

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

// Outputs or targets x (N,K) times the deviations by which a data set has divided the targets; number i by entry i
// modulo their count.
Expr in_units_of(const Standard& standard, Expr x) {
  const std::vector<double>& deviations = standard.deviations;
  if (deviations.empty() || x.shape()[1] % int64_t(deviations.size())) return x;
  if (deviations.size() == 1) return x * deviations[0];
  std::vector<Expr> factors;
  for (int64_t k = 0; k < x.shape()[1]; ++k) factors.push_back(x.constant(deviations[size_t(k) % deviations.size()]));
  return x * along_axis(x.graph(), factors, x.shape(), 1);
}

// Outputs, and targets t side by side, in the units of the data.
struct InUnits {
  std::vector<Expr> outputs;
  Expr t;
};
InUnits in_own_units(const DataLayout& data, const StepOptions& options, const std::vector<Expr>& outputs, Expr t) {
  const std::vector<Standard> standards = standards_of_outputs(data, options);
  if (standards.size() == 1 && options.outputs.empty()) {
    InUnits out{outputs, in_units_of(standards[0], t)};
    for (Expr& output : out.outputs) output = in_units_of(standards[0], output);
    return out;
  }
  InUnits out;
  std::vector<Expr> targets;
  int64_t first = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const int64_t width = outputs[i].shape()[1];
    out.outputs.push_back(in_units_of(standards[i], outputs[i]));
    targets.push_back(in_units_of(standards[i], columns_of(t, first, width)));
    first += width;
  }
  out.t = joined_outputs(targets);
  return out;
}

// Whether there are labels that whole sequences can be compared by.
void check_sequences(const DataLayout& data, const Metric& metric) {
  if (metric.of_objects() != (data.label_of == LabelOf::box))
    fail_about("metrics", metric.of_objects() ? "MeanAveragePrecision compares detections with boxes of objects, and "
                                                "the data set has none; leave it out"
                                              : "a metric compares each output with a target, but the targets are "
                                                "boxes of objects; MeanAveragePrecision compares these");
  const bool rows_only = data.label_of == LabelOf::sequence && !metric.of_sequences();
  if (rows_only)
    fail_about("metrics", "a metric compares each output with a target, but the targets are sequences of labels of ",
               "their own lengths; EditDistance and ExactMatch compare these");
  if (metric.of_sequences() && data.label_of != LabelOf::sequence && data.label_of != LabelOf::step)
    fail_about("metrics", "a metric compares sequences of labels, but the data set has ",
               data.classes == 0 ? text("no classes") : text("a class for each ", name_of(data.label_of)));
}

// Costs (N,1) of samples, from those of their rows (rows,1) times the weights of the rows.
Expr costs_of_samples(const Batch& batch, Expr each, Expr weight, int64_t samples) {
  const auto by_sample = [&](Expr x) {
    const Expr rows = reshape(x, {samples, x.shape()[0] / samples});
    return reshape(sum(rows, {1}), {samples, 1});
  };
  const Expr total = by_sample(each);
  return batch.counts.value() ? total / maximum(by_sample(weight), 1) : total;
}

}  // namespace

void add_measures(Graph& graph, LayerContext& context, const Measured& by, Expr y) {
  const auto& [data, batch, cost, metrics, options] = by;
  const Expr t = compared(cost, data, batch.t);
  const DType dtype = options.dtype == DType::f64 ? DType::f64 : DType::f32;
  const Expr of_samples(graph, graph.input("weight", dtype, {options.batch, 1}));
  const Expr weight = data.label_of == LabelOf::sequence ? of_samples : weight_of_rows(batch, of_samples);
  if (batch.counts.value()) graph.output("count", sum(weight, all_axes(weight.shape())));
  Expr each;
  if (cost) {
    Scope scope(graph, "cost");
    each = cost_of(context, data, *cost, y, batch) * weight;
    graph.output("cost", on_logits(graph, batch.counts.value() ? sum_of_rows(each, options.batch)
                                                               : sum(each, all_axes(each.shape()))));
  }
  for (size_t i = 0; i < metrics.size(); ++i) {
    Scope scope(graph, text("metric ", i));
    std::vector<Expr> sums;
    if (metrics[i]->of_costs()) {
      NEON_ASSERT(cost);
      const Expr costs(graph, on_logits(graph, costs_of_samples(batch, each, weight, options.batch)));
      sums = metrics[i]->sums_of_costs(costs, of_samples);
    } else if (check_sequences(data, *metrics[i]); metrics[i]->of_objects()) {
      sums = metrics[i]->sums_of_boxes(detections_of(context.boxes->outputs, context.boxes->chosen), batch.boxes,
                                       of_samples);
    } else if (metrics[i]->of_sequences()) {
      const auto [predicted, labels] = compared_labels(context, data, batch, y, options.blank);
      sums = metrics[i]->sums_of_sequences(predicted, labels, of_samples);
    } else {
      const std::vector<Expr> outputs = wide_outputs(context, data, y);
      const InUnits seen =
          metrics[i]->in_own_units(data.rules) ? in_own_units(data, options, outputs, t) : InUnits{outputs, t};
      sums = metrics[i]->sums_of_all(seen.outputs, seen.t, weight);
    }
    for (size_t j = 0; j < sums.size(); ++j) graph.output(text("metric/", i, "/", j), sums[j]);
  }
}

}  // namespace neon
