#include "models/label_search.h"

#include <algorithm>

#include "backends/graph/ops.h"
#include "backends/graph/passes.h"

namespace neon {

namespace {

// Log-probabilities of what cannot be, and of candidates that were taken already: below any sum of the former.
constexpr double kImpossible = -1e30, kTaken = -3e38;
// Numbers of rows are computed in f32.
constexpr int64_t kMostRows = int64_t(1) << 24;

// The logarithms of probabilities y, computed from what the softmax was given.
Expr logarithms(Expr y) {
  Graph& graph = y.graph();
  const Expr logs(graph, on_logits(graph, apply(ops::safelog, cast(y, compute_type(y.dtype())))));
  const Node* maker = &graph.producer(logs);
  while (maker->op->is(ops::reshape) || maker->op->is(ops::transpose)) maker = &graph.producer(maker->inputs[0]);
  if (!maker->op->is(ops::log_softmax))
    fail(ErrorKind::config,
         "beams compare sequences by their probabilities, but the decoder's last layer does not end in a softmax; end "
         "it with Affine: {nout: classes, activation: Softmax}, or leave beams out");
  return logs;
}

Value joined(Graph& graph, const std::vector<Value>& parts) {
  return parts.size() == 1 ? parts[0] : graph.add(ops::concat, parts, {{"axis", int64_t(1)}});
}

}  // namespace

LabelSearch::LabelSearch(LayerContext& context, int64_t samples, BeamOptions options)
    : context_(context), graph_(context.graph), samples_(samples), options_(options) {
  if (const Value counts = context.label_lengths)
    counts_ = cast(reshape(Expr(graph_, counts), {samples, 1, 1}), context.arithmetic_dtype);
  const int64_t beams = options_.beams;
  if (beams == 1) return;
  if (rows() > kMostRows)
    fail(ErrorKind::config, "beams: ", beams, " beams of each of ", samples, " samples are more than ", kMostRows,
         " rows; give a smaller batch, or fewer beams");
  const Expr sample = number_along(0, samples), beam = number_along(1, beams);
  const auto of_beams = [&](Expr x) { return Expr(graph_, broadcast_to(graph_, x, {samples, beams, 1})); };
  sample_of_ = cast(graph_, reshape(of_beams(sample), {rows()}), DType::i32);
  first_row_ = sample * double(beams);
  // The beams of a sample are alike at first, so one of them counts.
  scores_ = of_beams(apply("select", beam, beam.constant(kImpossible), beam.constant(0)));
  lengths_ = ended_ = of_beams(beam * 0.0);
}

Expr LabelSearch::number_along(int axis, int64_t size) const {
  return cast(context_.expr(iota(graph_, Shape{1, 1, 1}.with(axis, size), axis)), context_.arithmetic_dtype);
}

Expr LabelSearch::for_rows(Expr x) const {
  if (options_.beams == 1) return x;
  const Expr out(graph_, gather(graph_, x, sample_of_));
  context_.keep_axes(x, out);
  if (const Value lengths = context_.lengths(x)) context_.set_lengths(out, gather(graph_, lengths, sample_of_));
  return out;
}

PassedStates LabelSearch::for_rows(const PassedStates& states) const {
  return options_.beams == 1 ? states : states.of_rows(graph_, sample_of_);
}

PassedStates LabelSearch::chosen(const PassedStates& states) const {
  return options_.beams == 1 ? states : states.of_rows(graph_, steps_.back().from);
}

Expr LabelSearch::choose(Expr y) {
  if (options_.beams == 1) {
    const Expr likeliest = cast(reshape(reduce("argmax", y, {2}), {samples_, 1}), DType::i32);
    steps_.push_back({y, likeliest, {}});
    return likeliest;
  }
  end_full();
  const Expr scores = longer_scores(y);
  lengths_ = lengths_ + (1.0 - ended_);
  Expr rank = scores;
  if (options_.length_penalty > 0) rank = scores / apply("pow", lengths_, lengths_.constant(options_.length_penalty));
  steps_.push_back(best_of(y, scores, rank));
  return steps_.back().label;
}

void LabelSearch::end_full() {
  if (!counts_.value()) return;
  const Expr full = apply("less_equal", counts_, counts_.constant(double(steps_.size())));
  ended_ = 1.0 - (1.0 - ended_) * (1.0 - full);
}

Expr LabelSearch::longer_scores(Expr y) const {
  const int64_t classes = y.shape().back();
  Expr logs = cast(reshape(logarithms(y), {samples_, options_.beams, classes}), context_.arithmetic_dtype);
  if (context_.end_class >= 0 || counts_.value()) {
    const auto after_end = double(std::max<int64_t>(context_.end_class, 0));
    const Expr is_end = apply("equal", number_along(2, classes), logs.constant(after_end));
    logs = apply("select", ended_, apply("select", is_end, logs.constant(0), logs.constant(kImpossible)), logs);
  }
  return scores_ + logs;
}

LabelSearch::Step LabelSearch::best_of(Expr y, Expr scores, Expr rank) {
  const int64_t beams = options_.beams, classes = y.shape().back();
  const Expr label = number_along(2, classes), beam = number_along(1, beams);
  std::vector<Value> labels, sums, from;
  for (int64_t i = 0; i < beams; ++i) {
    const Expr best_beam = reduce("argmax", max(rank, {2}), {1});  // (N,1,1)
    const Value row = cast(graph_, reshape(first_row_ + best_beam, {samples_}), DType::i32);
    const auto of_row = [&](Expr x) {
      return reshape(context_.expr(gather(graph_, reshape(x, {rows(), classes}), row)), {samples_, 1, classes});
    };
    const Expr best_label = reduce("argmax", of_row(rank), {2});
    const Expr here = apply("equal", label, best_label);  // (N,1,K)
    sums.push_back(sum(apply("select", here, of_row(scores), scores.constant(0)), {2}));
    labels.push_back(best_label);
    from.push_back(reshape(graph_, row, {samples_, 1}));
    if (i + 1 < beams) rank = apply("select", here * apply("equal", beam, best_beam), rank.constant(kTaken), rank);
  }
  const Value source = reshape(graph_, joined(graph_, from), {rows()});
  scores_ = context_.expr(joined(graph_, sums));
  const Expr chosen = context_.expr(joined(graph_, labels));
  lengths_ = reshape(context_.expr(gather(graph_, reshape(lengths_, {rows(), 1}), source)), lengths_.shape());
  if (context_.end_class >= 0) ended_ = apply("equal", chosen, chosen.constant(double(context_.end_class)));
  return {y, cast(reshape(chosen, {rows(), 1}), DType::i32), source};
}

Value LabelSearch::own_labels(Value labels) const {
  if (!counts_.value()) return labels;
  const int64_t steps = graph_.shape(labels)[1];
  const Expr own = reshape(apply("less", number_along(1, steps), counts_), {samples_, steps});
  const Expr each = cast(Expr(graph_, labels), own.dtype());
  return cast(graph_, apply("select", own, each, each.constant(-1)), DType::i32);
}

LabelSearch::Found LabelSearch::found() const {
  std::vector<Value> labels, outputs;
  if (options_.beams == 1) {
    for (const Step& step : steps_) labels.push_back(step.label), outputs.push_back(step.y);
    return {own_labels(joined(graph_, labels)), context_.expr(joined(graph_, outputs))};
  }
  // From the last label of the best beam back to the first.
  Value row = cast(graph_, reshape(first_row_, {samples_}), DType::i32);
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    labels.insert(labels.begin(), gather(graph_, step->label, row));
    row = gather(graph_, step->from, row);
    outputs.insert(outputs.begin(), gather(graph_, step->y, row));
  }
  return {own_labels(joined(graph_, labels)), context_.expr(joined(graph_, outputs))};
}

}  // namespace neon
