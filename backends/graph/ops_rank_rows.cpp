// all_gather, reduce_scatter, all_to_all: see rank_rows.h. Attributes: `rows` of each rank, this `rank`; all_to_all has
// `back`, 1 from rows to columns. Each is linear. The gradient, of the sum of all ranks' costs, of all_gather
// is reduce_scatter, and the reverse; the gradient of all_to_all is the way back.
//
// Where a program has no other ranks, theirs are zeros, as defined here.
#include <numeric>

#include "backends/graph/expression.h"
#include "backends/graph/op.h"
#include "backends/graph/ops.h"
#include "backends/graph/rank_rows.h"

namespace neon {

int64_t RankRows::first(int of) const { return std::accumulate(rows.begin(), rows.begin() + of, int64_t(0)); }

RankRows rank_rows(const Attributes& attributes) {
  return {attributes.integers("rows"), int(attributes.integer("rank"))};
}

namespace {

Attributes attributes_of(const RankRows& rows) { return {{"rows", rows.rows}, {"rank", int64_t(rows.rank)}}; }

// Refuses operands whose first axes are others than `expected`.
const TensorType& checked(const InferContext& c, const char* op, std::vector<int64_t> expected, int rank = 0) {
  const TensorType& x = c.inputs[0];
  bool fits = is_floating(x.dtype) && x.shape.rank() >= int(expected.size()) && (rank == 0 || x.shape.rank() == rank);
  for (size_t axis = 0; fits && axis < expected.size(); ++axis) fits = x.shape[int(axis)] == expected[axis];
  if (!fits) fail(ErrorKind::config, op, " takes numbers of ", Shape(expected), " rows, got ", x);
  return x;
}

std::vector<TensorType> infer_all_gather(const InferContext& c) {
  const RankRows rows = rank_rows(c.attributes);
  const TensorType& x = checked(c, "all_gather", {rows.own()});
  return {{x.dtype, x.shape.with(0, rows.all())}};
}

std::vector<TensorType> infer_reduce_scatter(const InferContext& c) {
  const RankRows rows = rank_rows(c.attributes);
  const TensorType& x = checked(c, "reduce_scatter", {rows.all()});
  return {{x.dtype, x.shape.with(0, rows.own())}};
}

std::vector<TensorType> infer_all_to_all(const InferContext& c) {
  const RankRows rows = rank_rows(c.attributes);
  if (c.attributes.integer("back")) {
    const TensorType& x = checked(c, "all_to_all", {rows.ranks(), rows.own()}, 3);
    return {{x.dtype, {rows.all(), x.shape[2]}}};
  }
  const TensorType& x = checked(c, "all_to_all", {rows.all()}, 2);
  return {{x.dtype, {rows.ranks(), rows.own(), x.shape[1]}}};
}

Value own_slice(Graph& graph, Value x, int64_t first, int64_t count) {
  return graph.add("slice", {x}, {{"axis", int64_t(0)}, {"first", first}, {"count", count}});
}

// x between rows of zeros.
Value among_zeros(Graph& graph, Value x, int64_t before, int64_t after) {
  std::vector<Value> parts;
  const auto zeros = [&](int64_t count) {
    const TensorType& type = graph.type(x);
    if (count > 0) parts.push_back(broadcast_to(graph, graph.constant(0, type.dtype), type.shape.with(0, count)));
  };
  zeros(before);
  parts.push_back(x);
  zeros(after);
  return parts.size() == 1 ? x : graph.add("concat", parts, {{"axis", int64_t(0)}});
}

std::vector<Value> define_all_gather(Graph& graph, const Node& node) {
  const RankRows rows = rank_rows(node.attributes);
  const int64_t before = rows.first(rows.rank);
  return {among_zeros(graph, node.inputs[0], before, rows.all() - before - rows.own())};
}

std::vector<Value> define_reduce_scatter(Graph& graph, const Node& node) {
  const RankRows rows = rank_rows(node.attributes);
  return {own_slice(graph, node.inputs[0], rows.first(rows.rank), rows.own())};
}

std::vector<Value> define_all_to_all(Graph& graph, const Node& node) {
  const RankRows rows = rank_rows(node.attributes);
  const Value x = node.inputs[0];
  const int64_t columns = graph.shape(x).back(), before = rows.first(rows.rank);
  if (node.attributes.integer("back")) {
    const Value own = reshape(graph, own_slice(graph, x, rows.rank, 1), {rows.own(), columns});
    return {among_zeros(graph, own, before, rows.all() - before - rows.own())};
  }
  const Value own = reshape(graph, own_slice(graph, x, before, rows.own()), {1, rows.own(), columns});
  return {among_zeros(graph, own, rows.rank, rows.ranks() - rows.rank - 1)};
}

void all_gather_gradient(GradientContext& c) {
  c.results[0] = reduce_scatter(c.graph, c.cotangent(), rank_rows(c.node.attributes));
}

void reduce_scatter_gradient(GradientContext& c) {
  c.results[0] = all_gather(c.graph, c.cotangent(), rank_rows(c.node.attributes));
}

void all_to_all_gradient(GradientContext& c) {
  const RankRows rows = rank_rows(c.node.attributes);
  c.results[0] = c.node.attributes.integer("back") ? columns_to_rows(c.graph, c.cotangent(), rows)
                                                   : rows_to_columns(c.graph, c.cotangent(), rows);
}

constexpr OpTraits kTraits{.exchanges = true};
const OpRegistration rank_row_ops[] = {
    OpRegistration({ops::all_gather, infer_all_gather, all_gather_gradient, define_all_gather, kTraits}),
    OpRegistration(
        {ops::reduce_scatter, infer_reduce_scatter, reduce_scatter_gradient, define_reduce_scatter, kTraits}),
    OpRegistration({ops::all_to_all, infer_all_to_all, all_to_all_gradient, define_all_to_all, kTraits}),
};

}  // namespace

Value all_gather(Graph& graph, Value x, const RankRows& rows) {
  return graph.add(ops::all_gather, {x}, attributes_of(rows));
}

Value reduce_scatter(Graph& graph, Value x, const RankRows& rows) {
  return graph.add(ops::reduce_scatter, {x}, attributes_of(rows));
}

Value columns_to_rows(Graph& graph, Value x, const RankRows& rows) {
  return graph.add(ops::all_to_all, {x}, attributes_of(rows).with("back", int64_t(0)));
}

Value rows_to_columns(Graph& graph, Value x, const RankRows& rows) {
  return graph.add(ops::all_to_all, {x}, attributes_of(rows).with("back", int64_t(1)));
}

}  // namespace neon
