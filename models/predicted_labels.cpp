#include "models/predicted_labels.h"

#include "transforms/parts.h"

namespace neon {

Value predicted_labels(LayerContext& context, Expr y, int64_t blank) {
  const int64_t samples = y.shape()[0], steps = y.shape()[1];
  Graph& graph = context.graph;
  Expr predicted = cast(reduce("argmax", y, {2}), DType::f32);
  if (blank >= 0) {
    const Expr none(graph, broadcast_to(graph, graph.constant(-1, DType::f32), {samples, 1, 1}));
    const Expr before = steps > 1 ? beside({none, part(predicted, 1, 0, steps - 1)}, 1) : none;
    const Expr counts =
        apply("not_equal", predicted, before) * apply("not_equal", predicted, predicted.constant(double(blank)));
    predicted = apply("select", counts, predicted, predicted.constant(-1));
  }
  if (const Expr counts = unpadded(context, y); counts.value())
    predicted = apply("select", cast(counts, DType::f32), predicted, predicted.constant(-1));
  return cast(graph, reshape(predicted, {samples, steps}), DType::i32);
}

namespace {

// Labels (N,T) i32 with -1 from the first one of class `end` on.
Value without_end(Graph& graph, Value labels, int64_t end) {
  if (end < 0) return labels;
  const int64_t steps = graph.shape(labels)[1];
  const Expr each = cast(Expr(graph, labels), DType::f32);
  const Expr ends = reshape(apply("equal", each, each.constant(double(end))), {graph.shape(labels)[0], steps, 1});
  const auto number = [&](int axis) {
    return cast(Expr(graph, iota(graph, Shape{1, 1, 1}.with(axis, steps), axis)), DType::f32);
  };
  const Expr before = max(ends * apply("less_equal", number(1), number(2)), {1});  // up to that step
  return cast(graph, apply("select", reshape(before, each.shape()), each.constant(-1), each), DType::i32);
}

}  // namespace

Value all_predicted(LayerContext& context, const DataLayout& data, Expr y, int64_t blank) {
  const Value predicted = context.decoded ? context.decoded : predicted_labels(context, y, blank);
  return without_end(context.graph, predicted, data.end_class);
}

ComparedLabels compared_labels(LayerContext& context, const DataLayout& data, const Batch& batch, Expr y,
                               int64_t blank) {
  Graph& graph = context.graph;
  const Expr labels(graph, without_end(graph, batch.labels, data.end_class));
  const Expr predicted(graph, all_predicted(context, data, y, blank));
  if (context.decoded || !batch.counts.value()) return {predicted, labels};
  const Expr counts = apply("greater_equal", labels, labels.constant(0));
  return {cast(apply("select", counts, cast(predicted, DType::f32), counts.constant(-1)), DType::i32), labels};
}

}  // namespace neon
