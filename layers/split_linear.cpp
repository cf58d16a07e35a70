#include "layers/split_linear.h"

#include <algorithm>

#include "backends/graph/draw_places.h"
#include "backends/graph/op.h"
#include "backends/graph/ops.h"

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

// The samples of each rank that are computed in a turn: `count` from `first` on of its own.
struct Turn {
  std::vector<int64_t> first, count;
};

// by_share is for ranks with as many samples, one for each turn or more: a rank with others could order its exchanges
// otherwise. Others, as those of a last, shorter batch, come together.
std::vector<Turn> turns_of(const std::vector<int64_t>& counts, SampleTurns how) {
  const auto ranks = int64_t(counts.size());
  const Turn all{std::vector<int64_t>(counts.size(), 0), counts};
  if (how == SampleTurns::together) return {all};
  const bool even = std::ranges::count(counts, counts[0]) == ranks && counts[0] >= ranks;
  if (how == SampleTurns::by_share && !even) return {all};
  std::vector<Turn> out;
  for (int64_t t = 0; t < ranks; ++t) {
    Turn& turn = out.emplace_back();
    for (int64_t rank = 0; rank < ranks; ++rank) {
      const int64_t own = counts[size_t(rank)];
      const bool by_rank = how == SampleTurns::by_rank;
      const int64_t first = by_rank ? 0 : own * t / ranks,
                    end = by_rank ? (rank == t ? own : 0) : own * (t + 1) / ranks;
      turn.first.push_back(first), turn.count.push_back(end - first);
    }
  }
  return out;
}

// Rows (own, ...) by turns: some of these, maybe none, for each.
std::vector<Value> by_turns(Graph& graph, Value rows, const std::vector<int64_t>& sizes) {
  if (sizes.size() == 1) return {rows};
  return graph.add_all(ops::split, {rows}, {{"axis", int64_t(0)}, {"sizes", sizes}});
}

// This rank's rows (n, F), or steps of sequences, as parts of which each has samples of all ranks, or of one.
SplitParts parts_of(LayerContext& context, Expr x) {
  const BatchShare& share = context.share;
  const Expr rows = as_rows(as_steps(context, x));
  const int64_t of_sample = rows.shape()[0] / share.count;  // steps
  const std::vector<Turn> turns = turns_of(counts_of_ranks(share), context.dense.turns);
  std::vector<int64_t> sizes;
  for (const Turn& turn : turns) sizes.push_back(turn.count[size_t(share.of.rank)] * of_sample);
  const std::vector<Value> pieces = by_turns(context.graph, rows, sizes);
  SplitParts out{{}, share.whole * of_sample, context.is_sequence(x) ? x : Expr()};
  for (size_t t = 0; t < turns.size(); ++t) {
    SplitPart& part = out.parts.emplace_back(SplitPart{context.expr(pieces[t]), {{}, share.of.rank}, {}});
    for (int rank = 0; rank < share.ranks; ++rank) {
      const BatchShare of = share_of(share.whole, share.places, {rank, share.ranks, share.of.together});
      part.samples.rows.push_back(turns[t].count[size_t(rank)] * of_sample);
      part.firsts.push_back((of.first + turns[t].first[size_t(rank)]) * of_sample);
    }
  }
  return out;
}

Expr all_rows(const SplitPart& part) { return {part.x.graph(), all_gather(part.x.graph(), part.x, part.samples)}; }

Expr all_features(const LayerContext& context, const SplitPart& part) {
  return {part.x.graph(), all_gather(part.x.graph(), part.x, even_rows(context.share, part.x.shape()[0]))};
}

Expr in_one(Graph& graph, const std::vector<Value>& parts, int axis) {
  return {graph, parts.size() == 1 ? parts[0] : graph.add(ops::concat, parts, {{"axis", int64_t(axis)}})};
}

// Whether each part has the samples of one rank. These come together before they go back to their ranks: all ranks then
// have exchanges of the same arrays, and none has an exchange of nothing.
bool are_by_rank(const SplitParts& split) {
  return split.parts.size() > 1 && std::ranges::count(split.parts[0].samples.rows, 0) > 0;
}

// The samples of parts that have those of one rank each.
RankRows samples_of(const SplitParts& split) {
  RankRows out = split.parts[0].samples;
  for (size_t t = 1; t < split.parts.size(); ++t) out.rows[t] = split.parts[t].samples.rows[t];
  return out;
}

// This rank's samples of all parts, one part after the other, and as sequences where they are steps.
Expr joined(LayerContext& context, const std::vector<Value>& parts, const SplitParts& of) {
  const Expr out = in_one(context.graph, parts, 0);
  return of.sequences.value() ? in_sequence(context, out, of.sequences) : out;
}

// All features of those of x (features of this rank, samples) that are this rank's samples.
Value own_samples_of(Expr x, const RankRows& samples) {
  Graph& graph = x.graph();
  const Value rows = transpose(graph, x, {1, 0});  // (samples of all, features of this rank)
  const Value parts = transpose(graph, columns_to_rows(graph, rows, samples), {1, 0, 2});
  return reshape(graph, parts, {samples.own(), x.shape()[0] * samples.ranks()});
}

// The second product of a pair: x (features of this rank, samples of all) · W (nout, features of this rank) -> (this
// rank's samples, nout).
Expr product_of_columns(LayerContext& context, const SplitParts& split, Expr weight) {
  Graph& graph = context.graph;
  std::vector<Value> products;  // (samples, nout), to be added up over ranks
  for (const SplitPart& part : split.parts) products.push_back(matmul(graph, part.x, weight, true, true));
  if (are_by_rank(split))
    return joined(context, {reduce_scatter(graph, in_one(graph, products, 0), samples_of(split))}, split);
  for (size_t t = 0; t < products.size(); ++t) products[t] = reduce_scatter(graph, products[t], split.parts[t].samples);
  return joined(context, products, split);
}

// For an activation that neither learns nor draws.
struct OfElements : ActivationContext {
  explicit OfElements(bool training) : is_training(training) {}
  bool training() const override { return is_training; }
  Expr learned(const LearnedNumbers&) override { return none(); }
  Expr draw(const std::string&, const Shape&) override { return none(); }
  static Expr none() {
    NEON_ASSERT(false);
    return {};
  }
  const bool is_training;
};

}  // namespace

namespace {

Expr joined_samples(LayerContext& context, Expr x) {
  if (const Activated* const made = context.split.activated(x)) {
    OfElements of_elements(context.training);
    const Expr whole = own_samples(context, made->x);
    return in_sequence(context, made->activation->apply(of_elements, as_steps(context, whole)), whole);
  }
  const SplitParts& split = context.split.of(x);
  std::vector<Value> parts;
  for (const SplitPart& part : split.parts)
    parts.push_back(are_by_rank(split) ? part.x.value() : own_samples_of(part.x, part.samples));
  if (are_by_rank(split)) parts = {own_samples_of(in_one(context.graph, parts, 1), samples_of(split))};
  return joined(context, parts, split);
}

}  // namespace

Expr own_samples(LayerContext& context, Expr x) {
  if (!context.split.has(x)) return x;
  Expr& known = context.split.whole(x);
  if (known.value()) return known;
  known = joined_samples(context, x);
  if (const auto found = context.dropped.find(x); found != context.dropped.end())
    context.dropped.insert_or_assign(known, found->second);
  return known;
}

bool splits(const LayerContext& context, Expr x, int64_t nout) {
  const BatchShare& share = context.share;
  if (!context.dense.on || share.ranks == 1 || context.passed || context.sharing.concerns(context.layer)) return false;
  if (context.split.has(x) && context.dense.pairs) return true;
  if (context.is_sequence(x) && !context.dense.pairs) return false;
  return nout % share.ranks == 0 && (context.split.has(x) || x.shape()[0] % share.count == 0);
}

bool splits_inside(const LayerContext& context, Expr x, std::initializer_list<int64_t> units) {
  const BatchShare& share = context.share;
  if (!context.dense.pairs || share.ranks == 1 || context.passed || context.sharing.concerns(context.layer))
    return false;
  return x.shape()[0] % share.count == 0 && std::ranges::all_of(units, [&](int64_t n) { return n % share.ranks == 0; });
}

Expr split_product(LayerContext& context, Expr x, Parameter parameter) {
  if (!context.split.has(x)) return split_products(context, x, {std::move(parameter)})[0];
  SplitParts split = context.split.of(x);
  if (context.dense.pairs)
    return product_of_columns(context, split, context.parameter(own_part(context, std::move(parameter), 1)));
  const Expr weight = context.parameter(own_part(context, std::move(parameter), 0));
  for (SplitPart& part : split.parts)
    part.x = context.expr(matmul(context.graph, weight, all_features(context, part), false, false));
  return context.split.add(std::move(split));
}

std::vector<Expr> split_products(LayerContext& context, Expr x, std::vector<Parameter> parameters) {
  SplitParts rows = parts_of(context, x);
  std::vector<Expr> weights, out;
  for (Parameter& each : parameters) weights.push_back(context.parameter(own_part(context, std::move(each), 0)));
  for (SplitPart& part : rows.parts) part.x = all_rows(part);
  for (const Expr weight : weights) {
    SplitParts split = rows;
    for (SplitPart& part : split.parts) part.x = context.expr(matmul(context.graph, weight, part.x, false, true));
    out.push_back(context.split.add(std::move(split)));
  }
  return out;
}

std::vector<Value> lengths_of_parts(LayerContext& context, Value lengths, Expr x) {
  const SplitParts& split = context.split.of(x);
  if (!lengths) return std::vector<Value>(split.parts.size());
  Graph& graph = context.graph;
  const int64_t steps = split.sequences.shape()[1];
  std::vector<RankRows> samples;
  std::vector<int64_t> sizes;
  for (const SplitPart& part : split.parts) {
    samples.push_back(part.samples);
    for (int64_t& rows : samples.back().rows) rows /= steps;
    sizes.push_back(samples.back().own());
  }
  std::vector<Value> out = by_turns(graph, cast(graph, lengths, DType::f32), sizes);  // ranks exchange no integers
  for (size_t t = 0; t < out.size(); ++t) out[t] = cast(graph, all_gather(graph, out[t], samples[t]), DType::i32);
  return out;
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
    if (end > first) pieces.push_back(slice(graph, all, 1, first, end - first));
  }
  return in_one(graph, pieces, 1);
}

}  // namespace

std::vector<Expr> draws_for_features(LayerContext& context, Expr x, const std::string& stream) {
  Graph& graph = context.graph;
  const SplitParts& split = context.split.of(x);
  const int64_t own = x.shape()[0];
  const Shape shape{split.all, features_of(context, x)};
  const Expr& steps = split.sequences;
  const DrawPlaces places = steps.value() ? draws_by_sample(0, steps.shape()[1] * shape[1]) : DrawPlaces();
  const Value all = uniform(graph, shape, context.seed, stream, places);
  const Value of_rank = transpose(graph, slice(graph, all, 1, own * context.share.of.rank, own), {1, 0});
  std::vector<Expr> out;
  for (const SplitPart& part : split.parts) out.push_back(context.expr(columns_of(graph, of_rank, part)));
  return out;
}

namespace {

struct Notes : ActivationContext {
  Notes(Graph& graph, DType dtype) : graph(graph), dtype(dtype) {}
  bool training() const override { return true; }
  Expr learned(const LearnedNumbers& numbers) override { return noted(numbers.shape, dtype); }
  Expr draw(const std::string&, const Shape& shape) override { return noted(shape, DType::f32); }
  Expr noted(const Shape& shape, DType type) {
    asked = true;
    return {graph, broadcast_to(graph, cast(graph, graph.constant(0, compute_type(type)), type), shape)};
  }
  Graph& graph;
  const DType dtype;
  bool asked = false;
};

}  // namespace

bool is_of_elements(const Activation& activation, DType dtype) {
  if (activation.mixes()) return false;
  Graph graph;
  Notes notes(graph, dtype);
  activation.apply(notes, {graph, graph.input("x", dtype, {2, 3})});
  return !notes.asked;
}

}  // namespace neon
