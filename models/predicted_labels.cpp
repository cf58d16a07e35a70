#include "models/predicted_labels.h"

#include "backends/graph/ops.h"

namespace neon {

Value predicted_labels(LayerContext& context, Expr y, int64_t blank) {
  const int64_t samples = y.shape()[0], steps = y.shape()[1];
  Graph& graph = context.graph;
  Expr predicted = cast(reduce("argmax", y, {2}), DType::f32);
  if (blank >= 0) {
    const Expr none(graph, broadcast_to(graph, graph.constant(-1, DType::f32), {samples, 1, 1}));
    Expr before = none;
    if (steps > 1) {
      const Attributes first = {{"axis", int64_t(1)}, {"first", int64_t(0)}, {"count", steps - 1}};
      before = {graph,
                graph.add(ops::concat, {none, graph.add(ops::slice, {predicted}, first)}, {{"axis", int64_t(1)}})};
    }
    const Expr counts =
        apply("not_equal", predicted, before) * apply("not_equal", predicted, predicted.constant(double(blank)));
    predicted = apply("select", counts, predicted, predicted.constant(-1));
  }
  if (const Expr counts = unpadded(context, y); counts.value())
    predicted = apply("select", cast(counts, DType::f32), predicted, predicted.constant(-1));
  return cast(graph, reshape(predicted, {samples, steps}), DType::i32);
}

Value predicted_in_batch(LayerContext& context, const Batch& batch, Expr y, int64_t blank) {
  const Value predicted = predicted_labels(context, y, blank);
  if (!batch.counts.value()) return predicted;
  const Expr all(context.graph, predicted), labels(context.graph, batch.labels);
  const Expr counts = apply("greater_equal", labels, labels.constant(0));
  return cast(context.graph, apply("select", counts, cast(all, DType::f32), counts.constant(-1)), DType::i32);
}

}  // namespace neon
