#include "neon/train/constant_cost.h"

#include <algorithm>
#include <vector>

#include "backends/program.h"
#include "models/output_costs.h"
#include "models/several_targets.h"

namespace neon {

namespace {

constexpr int64_t kMostNumbers = 1 << 20;  // of the targets that are measured

// Rows of targets, each with the share of the samples that it stands for, and one output for all of them.
struct Rows {
  Tensor targets, output;  // (n,K) and (1,K) f64
  std::vector<double> shares;
};

std::optional<Rows> rows_of_classes(const Data& data, const std::vector<double>& factors) {
  if (data.label_of == LabelOf::box) return {};
  const int64_t classes = data.classes, labels = data.train.label_count();  // of samples, their pixels or steps
  if (classes * classes > kMostNumbers || labels == 0) return {};
  Rows out{Tensor(DType::f64, {classes, classes}), Tensor(DType::f64, {1, classes}),
           std::vector<double>(size_t(classes), 0.0)};
  int64_t counted = 0;
  for (int64_t i = 0; i < labels; ++i) counted += data.train.label(i) >= 0;
  for (int64_t i = 0; i < labels; ++i)
    if (data.train.label(i) >= 0) out.shares[size_t(data.train.label(i))] += 1 / double(counted);
  double all = 0;
  for (int64_t c = 0; c < classes; ++c) all += out.shares[size_t(c)] *= factors[size_t(c)];
  for (int64_t c = 0; c < classes; ++c) {
    out.targets.set(c * classes + c, 1);
    out.output.set(c, all > 0 ? out.shares[size_t(c)] / all : 0);
  }
  return out;
}

// Element `at` of a sample as the net sees it, of a raw value.
double seen(const Data& data, int64_t at, double raw) {
  const double x = raw * double(data.scale) + double(data.shift);
  if (data.means.empty()) return x;
  const auto channels = int64_t(data.means.size());
  const int64_t numbers = data.stored_sample().elements();
  const auto c = size_t(data.channels_last ? at % channels : at / (numbers / channels));
  return (x - data.means[c]) / data.deviations[c];
}

std::optional<Rows> rows_of_numbers(const Data& data) {
  const bool own = data.train.targets.empty();
  const Tensor& from = own ? data.train.inputs : data.train.targets;
  if (data.train.reader || from.empty() || from.elements() == 0) return {};
  if (data.ragged && from.shape().rank() > 2) return {};  // some are of padding
  const int64_t samples = from.shape()[0], numbers = from.elements() / samples;
  const int64_t count = std::clamp<int64_t>(kMostNumbers / numbers, 1, samples);
  Rows out{Tensor(DType::f64, {count, numbers}), Tensor(DType::f64, {1, numbers}),
           std::vector<double>(size_t(count), 1 / double(count))};
  for (int64_t row = 0; row < count; ++row)
    for (int64_t k = 0; k < numbers; ++k) {
      const double raw = from.at(row * samples / count * numbers + k);
      const double value = own ? seen(data, k, raw) : raw;
      out.targets.set(row * numbers + k, value);
      out.output.set(k, out.output.at(k) + value / double(count));
    }
  return out;
}

// Targets side by side, in the order of the outputs, and their means: of classes the shares, times their weights.
std::optional<Rows> rows_of_several(const Data& data, const std::vector<size_t>& places,
                                    const std::vector<std::vector<double>>& weights) {
  const Tensor& from = data.train.targets;
  int64_t width = 0;
  for (const size_t k : places) width += data.targets[k].width;
  const int64_t samples = data.train.size();
  const int64_t count = std::clamp<int64_t>(kMostNumbers / width, 1, samples);
  Rows out{Tensor(DType::f64, {count, width}), Tensor(DType::f64, {1, width}),
           std::vector<double>(size_t(count), 1 / double(count))};
  const auto to = out.targets.as<double>();
  for (int64_t row = 0, at = 0; row < count; ++row)
    for (const size_t k : places) {
      put_compared(data.targets, k, from, row * samples / count, &to[size_t(at)]);
      at += data.targets[k].width;
    }
  for (int64_t at = 0; at < count * width; ++at)
    out.output.set(at % width, out.output.at(at % width) + to[size_t(at)] / double(count));
  int64_t first = 0;
  for (size_t i = 0; i < places.size(); ++i) {
    const std::vector<double> own = i < weights.size() ? weights[i] : std::vector<double>();
    double all = 0;
    for (size_t c = 0; c < own.size(); ++c) all += own[c] * out.output.at(first + int64_t(c));
    for (size_t c = 0; c < own.size() && all > 0; ++c) {
      const int64_t at = first + int64_t(c);
      out.output.set(at, own[c] * out.output.at(at) / all);
    }
    first += data.targets[places[i]].width;
  }
  return out;
}

std::optional<Rows> rows_of(const Data& data, const ClassFactors& factors, const std::vector<NetOutput>& several) {
  if (!several.empty()) {
    DataLayout layout;
    layout.targets = data.targets;
    StepOptions options;
    options.outputs = several;
    return rows_of_several(data, targets_of_outputs(layout, options), factors.of_outputs);
  }
  return data.classes > 0 ? rows_of_classes(data, factors.of_classes) : rows_of_numbers(data);
}

// Whether a column of targets has only 0 and 1.
bool are_marks(const Tensor& targets, int64_t column) {
  const int64_t width = targets.shape()[1];
  for (int64_t at = column; at < targets.elements(); at += width)
    if (targets.at(at) != 0 && targets.at(at) != 1) return false;
  return true;
}

// Gives the outputs what a net has that knows neither samples nor shares.
void even_out(const Data& data, const std::vector<NetOutput>& several, Rows& rows) {
  const int64_t width = rows.output.elements();
  std::vector<double> shares(size_t(width), data.classes > 0 && several.empty() ? 1 / double(width) : 0.5);
  int64_t first = 0;
  for (const NetOutput& output : several) {
    const auto target = std::ranges::find(data.targets, output.target, &NamedTarget::name);
    if (target->kind == TargetKind::classes)
      std::fill_n(shares.begin() + first, target->width, 1 / double(target->width));
    first += target->width;
  }
  for (int64_t k = 0; k < width; ++k)
    if (are_marks(rows.targets, k)) rows.output.set(k, shares[size_t(k)]);
}

// The outputs (n,K) of a net, all alike or for one target each.
std::vector<Expr> outputs_of(Expr y, size_t outputs, const Data& data, const std::vector<NetOutput>& several) {
  if (several.empty()) return std::vector<Expr>(outputs, y);
  std::vector<Expr> out;
  int64_t first = 0;
  for (const NetOutput& output : several) {
    const auto target = std::ranges::find(data.targets, output.target, &NamedTarget::name);
    out.push_back(columns_of(y, first, target->width));
    first += target->width;
  }
  return out;
}

// The costs (n,1) of rows of targets, of each output times the weights of its classes.
Expr weighed_cost(const Cost& cost, const std::vector<Expr>& outputs, Expr t,
                  const std::vector<std::vector<double>>& weights) {
  if (std::ranges::all_of(weights, &std::vector<double>::empty)) return cost.apply_all(outputs, t);
  std::vector<Expr> parts = cost.parts(outputs, t);
  Expr total;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Expr own = target_of(outputs, i, t);
    Expr factor = own.constant(weights[i].empty() ? 1.0 : 0.0);
    for (size_t c = 0; c < weights[i].size(); ++c) factor = factor + columns_of(own, int64_t(c), 1) * weights[i][c];
    const Expr part = parts[i] * factor * cost.weight_of(i);
    total = total.value() ? total + part : part;
  }
  return total;
}

}  // namespace

std::optional<double> cost_of_constant(const Cost& cost, const Data& data, size_t outputs, const ClassFactors& factors,
                                       const std::vector<NetOutput>& several, bool even) {
  if (cost.masks() || cost.of_sequences()) return {};
  std::optional<Rows> rows = rows_of(data, factors, several);
  if (!rows) return {};
  if (even) even_out(data, several, *rows);
  Graph graph;
  const Shape shape = rows->targets.shape();
  const Expr t(graph, graph.input("t", DType::f64, shape)),
      one(graph, graph.input("y", DType::f64, rows->output.shape()));
  const Expr y(graph, broadcast_to(graph, one, shape));
  graph.output("cost", weighed_cost(cost, outputs_of(y, outputs, data, several), t, factors.of_outputs));
  Variables variables;
  const auto program = compile_for_cpu(graph, variables, {.threads = 1});
  program->bind("t", rows->targets.data());
  program->bind("y", rows->output.data());
  program->run(1);
  const Tensor each = program->output("cost");
  double out = 0;
  for (int64_t i = 0; i < each.elements(); ++i) out += rows->shares[size_t(i)] * each.at(i);
  return out;
}

std::optional<double> cost_of_constant(const Experiment& experiment, const Data& data, size_t outputs, bool even) {
  const ExperimentParams& params = experiment.params;
  if (params.draws_by_class() && !data.targets.empty()) return {};  // other targets have other shares then
  return cost_of_constant(*experiment.cost(), data, outputs,
                          {factors_of_classes(params.class_weights, params.draws_by_class(), data),
                           weights_of_outputs(params.outputs, data)},
                          step_options({}, params).outputs, even);
}

}  // namespace neon
