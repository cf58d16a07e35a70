#include "layers/split_linear.h"

#include "backends/graph/op.h"

namespace neon {

namespace {

RankRows even_rows(const BatchShare& share, int64_t own) {
  return {std::vector<int64_t>(size_t(share.ranks), own), share.of.rank};
}

// This rank's rows, or with axis 1 its columns, of a parameter.
Parameter own_part(const LayerContext& context, Parameter p, int axis) {
  const int64_t all = p.shape[axis], own = all / context.share.ranks;
  p.part = {axis, own * context.share.of.rank, all};
  p.shape = p.shape.with(axis, own);
  return p;
}

// This rank's rows (n, F), or steps of sequences, as parts of which each has samples of all ranks.
SplitParts parts_of(const LayerContext& context, Expr x) {
  const BatchShare& share = context.share;
  const Expr rows = as_rows(as_steps(context, x));
  const int64_t of_sample = rows.shape()[0] / share.count;  // steps
  SplitPart part{rows, {{}, share.of.rank}, {}};
  for (int rank = 0; rank < share.ranks; ++rank) {
    const BatchShare of = share_of(share.whole, share.places, {rank, share.ranks, share.of.together});
    part.samples.rows.push_back(of.count * of_sample);
    part.firsts.push_back(of.first * of_sample);
  }
  return {{part}, share.whole * of_sample, context.is_sequence(x) ? x : Expr()};
}

Expr all_rows(const SplitPart& part) { return {part.x.graph(), all_gather(part.x.graph(), part.x, part.samples)}; }

Expr all_features(const LayerContext& context, const SplitPart& part) {
  return {part.x.graph(), all_gather(part.x.graph(), part.x, even_rows(context.share, part.x.shape()[0]))};
}

// This rank's samples of all parts, one part after the other, and as sequences where they are steps.
Expr joined(LayerContext& context, const std::vector<Expr>& parts, const SplitParts& of) {
  const std::vector<Value> values(parts.begin(), parts.end());
  Expr out = parts[0];
  if (parts.size() > 1) out = {context.graph, context.graph.add("concat", values, {{"axis", int64_t(0)}})};
  return of.sequences.value() ? in_sequence(context, out, of.sequences) : out;
}

// All features of those samples of a part that are this rank's.
Expr own_samples_of(const SplitPart& part) {
  Graph& graph = part.x.graph();
  const RankRows& samples = part.samples;
  const Value rows = transpose(graph, part.x, {1, 0});  // (samples of all, features of this rank)
  const Value parts = transpose(graph, columns_to_rows(graph, rows, samples), {1, 0, 2});
  return {graph, reshape(graph, parts, {samples.own(), part.x.shape()[0] * samples.ranks()})};
}

// The second product of a pair: x (features of this rank, samples of all) · W (nout, features of this rank) -> (this
// rank's samples, nout).
Expr product_of_columns(LayerContext& context, const SplitParts& split, Expr weight) {
  std::vector<Expr> out;
  for (const SplitPart& part : split.parts)
    out.push_back(
        context.expr(reduce_scatter(context.graph, matmul(context.graph, part.x, weight, true, true), part.samples)));
  return joined(context, out, split);
}

}  // namespace

Expr own_samples(LayerContext& context, Expr x) {
  if (!context.split.has(x)) return x;
  Expr& known = context.split.whole(x);
  if (known.value()) return known;
  std::vector<Expr> parts;
  for (const SplitPart& part : context.split.of(x).parts) parts.push_back(own_samples_of(part));
  return known = joined(context, parts, context.split.of(x));
}

bool splits(const LayerContext& context, Expr x, int64_t nout) {
  const BatchShare& share = context.share;
  if (!context.dense.on || share.ranks == 1 || context.passed || context.sharing.concerns(context.layer)) return false;
  if (context.split.has(x) && context.dense.pairs) return true;
  if (context.is_sequence(x) && !context.dense.pairs) return false;
  return nout % share.ranks == 0 && (context.split.has(x) || x.shape()[0] % share.count == 0);
}

Expr split_product(LayerContext& context, Expr x, Parameter parameter) {
  Graph& graph = context.graph;
  const bool of_features = context.split.has(x);
  SplitParts split = of_features ? context.split.of(x) : parts_of(context, x);
  if (of_features && context.dense.pairs)
    return product_of_columns(context, split, context.parameter(own_part(context, std::move(parameter), 1)));
  const Expr weight = context.parameter(own_part(context, std::move(parameter), 0));
  for (SplitPart& part : split.parts) {
    const Expr all = of_features ? all_features(context, part) : all_rows(part);
    part.x = context.expr(matmul(graph, weight, all, false, !of_features));
  }
  return context.split.add(std::move(split));
}

int64_t features_of(const LayerContext& context, Expr x) {
  return context.split.has(x) ? x.shape()[0] * context.share.ranks : x.shape().rank() > 1 ? x.shape().back() : 1;
}

Expr feature_parameter(LayerContext& context, Expr x, Parameter parameter) {
  if (!context.split.has(x)) return context.parameter(std::move(parameter));
  const Expr own = context.parameter(own_part(context, std::move(parameter), 0));
  return reshape(own, {own.shape()[0], 1});
}

namespace {

Value slice(Graph& graph, Value x, int axis, int64_t first, int64_t count) {
  return graph.add("slice", {x}, {{"axis", int64_t(axis)}, {"first", first}, {"count", count}});
}

// The columns of `all`, of all samples of the batch, that are of the samples of a part.
Value columns_of(Graph& graph, Value all, const SplitPart& part) {
  std::vector<Value> pieces;
  for (size_t rank = 0; rank < part.firsts.size();) {
    const int64_t first = part.firsts[rank];
    int64_t end = first;
    while (rank < part.firsts.size() && part.firsts[rank] == end) end += part.samples.rows[rank++];
    pieces.push_back(slice(graph, all, 1, first, end - first));
  }
  return pieces.size() == 1 ? pieces[0] : graph.add("concat", pieces, {{"axis", int64_t(1)}});
}

}  // namespace

std::vector<Expr> draws_for_features(LayerContext& context, Expr x, const std::string& stream) {
  Graph& graph = context.graph;
  const SplitParts& split = context.split.of(x);
  const int64_t own = x.shape()[0];
  const Value all = uniform(graph, {split.all, features_of(context, x)}, context.seed, stream);
  const Value of_rank = transpose(graph, slice(graph, all, 1, own * context.share.of.rank, own), {1, 0});
  std::vector<Expr> out;
  for (const SplitPart& part : split.parts) out.push_back(context.expr(columns_of(graph, of_rank, part)));
  return out;
}

namespace {

struct Notes : ActivationContext {
  explicit Notes(Graph& graph) : graph(graph) {}
  bool training() const override { return true; }
  Expr learned(const LearnedNumbers& numbers) override { return noted(numbers.shape); }
  Expr draw(const std::string&, const Shape& shape) override { return noted(shape); }
  Expr noted(const Shape& shape) {
    asked = true;
    return {graph, broadcast_to(graph, graph.constant(0, DType::f32), shape)};
  }
  Graph& graph;
  bool asked = false;
};

}  // namespace

bool is_of_elements(const Activation& activation, DType dtype) {
  Graph graph;
  Notes notes(graph);
  activation.apply(notes, {graph, graph.input("x", dtype, {2, 3})});
  for (int n = 0; n < graph.node_count(); ++n) {
    const OpTraits& traits = graph.node(n).op->traits;
    if (traits.leaf == LeafKind::none && traits.fusion != Fusion::elements) return false;
  }
  return !notes.asked;
}

}  // namespace neon
