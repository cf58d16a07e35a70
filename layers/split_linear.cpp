#include "layers/split_linear.h"

#include <numeric>

#include "backends/graph/op.h"

namespace neon {

namespace {

// How many rows of an array each rank has, where there are so many for this rank's samples.
RankRows rows_of(const BatchShare& share, int64_t own) {
  RankRows out{counts_of_ranks(share), share.of.rank};
  for (int64_t& rows : out.rows) rows *= own / share.count;
  return out;
}

RankRows even_rows(const BatchShare& share, int64_t own) {
  return {std::vector<int64_t>(size_t(share.ranks), own), share.of.rank};
}

// This rank's rows of a parameter.
Parameter own_rows(const LayerContext& context, Parameter p) {
  p.all_rows = p.shape[0];
  p.shape = p.shape.with(0, p.all_rows / context.share.ranks);
  p.first_row = p.shape[0] * context.share.of.rank;
  return p;
}

}  // namespace

Expr SplitFeatures::own_samples(Expr x) {
  const auto found = samples_.find(x);
  if (found == samples_.end()) return x;
  Expr& own = own_[x];
  if (own.value()) return own;
  const RankRows& samples = found->second;
  Graph& graph = x.graph();
  const Value rows = transpose(graph, x, {1, 0});  // (samples of all, features of this rank)
  const Value parts = transpose(graph, columns_to_rows(graph, rows, samples), {1, 0, 2});
  return own = Expr(graph, reshape(graph, parts, {samples.own(), x.shape()[0] * samples.ranks()}));
}

bool splits(const LayerContext& context, Expr x, int64_t nout) {
  const BatchShare& share = context.share;
  if (!context.split_dense || share.ranks == 1 || context.is_sequence(x) || context.passed) return false;
  if (context.sharing.concerns(context.layer) || nout % share.ranks) return false;
  return context.split.has(x) || x.shape()[0] % share.count == 0;
}

Expr split_product(LayerContext& context, Expr x, Parameter parameter) {
  Graph& graph = context.graph;
  const BatchShare& share = context.share;
  const bool of_features = context.split.has(x);
  const RankRows samples = of_features ? context.split.samples(x) : rows_of(share, x.shape()[0]);
  const Expr weight = context.parameter(own_rows(context, std::move(parameter)));
  const Value all =
      all_gather(graph, of_features ? x : as_rows(x), of_features ? even_rows(share, x.shape()[0]) : samples);
  const Expr out = context.expr(matmul(graph, weight, all, false, !of_features));
  context.split.mark(out, samples);
  return out;
}

int64_t features_of(const LayerContext& context, Expr x) {
  return context.split.has(x) ? x.shape()[0] * context.share.ranks : x.shape().rank() > 1 ? x.shape().back() : 1;
}

Expr feature_parameter(LayerContext& context, Expr x, Parameter parameter) {
  if (!context.split.has(x)) return context.parameter(std::move(parameter));
  const Expr own = context.parameter(own_rows(context, std::move(parameter)));
  return reshape(own, {own.shape()[0], 1});
}

Expr as_split(LayerContext& context, Expr x, Expr y) {
  if (context.split.has(x) && y.value() != x.value()) context.split.mark(y, context.split.samples(x));
  return y;
}

Expr draw_for_features(LayerContext& context, Expr x, const std::string& stream) {
  const RankRows& samples = context.split.samples(x);
  const std::vector<int64_t> counts = counts_of_ranks(context.share);
  // A rank without samples computes one again, which would move those behind it.
  if (std::accumulate(counts.begin(), counts.end(), int64_t(0)) != context.share.whole) return {};
  const int64_t own = x.shape()[0];
  const Value all = uniform(context.graph, {samples.all(), features_of(context, x)}, context.seed, stream);
  const Value part =
      context.graph.add("slice", {all}, {{"axis", int64_t(1)}, {"first", own * context.share.of.rank}, {"count", own}});
  return context.expr(transpose(context.graph, part, {1, 0}));
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
