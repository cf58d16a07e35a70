// all_gather, reduce_scatter, all_to_all: see rank_rows.h. Attributes: `rows` of each rank, of one array after the
// other, this `rank`; all_to_all has `back`, 1 from rows to columns. Each is linear. The gradient, of the sum of all
// ranks' costs, of all_gather is reduce_scatter, and the reverse; the gradient of all_to_all is the way back.
//
// Where a program has no other ranks, theirs are zeros, as defined here.
#include <numeric>

#include "backends/graph/expression.h"
#include "backends/graph/op.h"
#include "backends/graph/ops.h"
#include "backends/graph/rank_rows.h"

namespace neon {

int64_t RankRows::first(int of) const { return std::accumulate(rows.begin(), rows.begin() + of, int64_t(0)); }

RankRows rank_rows(const Attributes& attributes, size_t array, size_t arrays) {
  const std::vector<int64_t> all = attributes.integers("rows");
  const auto ranks = std::ptrdiff_t(all.size() / arrays), first = std::ptrdiff_t(array) * ranks;
  return {{all.begin() + first, all.begin() + first + ranks}, int(attributes.integer("rank"))};
}

namespace {

Attributes attributes_of(const RankRows& rows) { return {{"rows", rows.rows}, {"rank", int64_t(rows.rank)}}; }

Attributes attributes_of(const std::vector<RankRows>& arrays) {
  std::vector<int64_t> rows;
  for (const RankRows& each : arrays) rows.insert(rows.end(), each.rows.begin(), each.rows.end());
  return {{"rows", rows}, {"rank", int64_t(arrays[0].rank)}};
}

// The rows of a node's operand i.
RankRows rows_of_operand(const Node& node, size_t i) { return rank_rows(node.attributes, i, node.inputs.size()); }

// Refuses operands whose first axes are others than `expected`.
const TensorType& checked(const TensorType& x, const char* op, std::vector<int64_t> expected, int rank = 0) {
  bool fits = is_floating(x.dtype) && x.shape.rank() >= int(expected.size()) && (rank == 0 || x.shape.rank() == rank);
  for (size_t axis = 0; fits && axis < expected.size(); ++axis) fits = x.shape[int(axis)] == expected[axis];
  if (!fits) fail(ErrorKind::config, op, " takes numbers of ", Shape(expected), " rows, got ", x);
  return x;
}

// The types of all results, that of an operand by its type and rows.
template <typename Type>
std::vector<TensorType> infer_each(const InferContext& c, const char* op, Type&& type_of) {
  std::vector<TensorType> out;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    if (c.inputs[i].dtype != c.inputs[0].dtype) fail(ErrorKind::config, op, " takes arrays of one type");
    out.push_back(type_of(c.inputs[i], rank_rows(c.attributes, i, c.inputs.size())));
  }
  return out;
}

std::vector<TensorType> infer_all_gather(const InferContext& c) {
  return infer_each(c, "all_gather", [](const TensorType& x, const RankRows& rows) {
    return TensorType{checked(x, "all_gather", {rows.own()}).dtype, x.shape.with(0, rows.all())};
  });
}

std::vector<TensorType> infer_reduce_scatter(const InferContext& c) {
  return infer_each(c, "reduce_scatter", [](const TensorType& x, const RankRows& rows) {
    return TensorType{checked(x, "reduce_scatter", {rows.all()}).dtype, x.shape.with(0, rows.own())};
  });
}

std::vector<TensorType> infer_all_to_all(const InferContext& c) {
  const RankRows rows = rank_rows(c.attributes);
  if (c.attributes.integer("back")) {
    const TensorType& x = checked(c.inputs[0], "all_to_all", {rows.ranks(), rows.own()}, 3);
    return {{x.dtype, {rows.all(), x.shape[2]}}};
  }
  const TensorType& x = checked(c.inputs[0], "all_to_all", {rows.all()}, 2);
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
  std::vector<Value> out;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const RankRows rows = rows_of_operand(node, i);
    const int64_t before = rows.first(rows.rank);
    out.push_back(among_zeros(graph, node.inputs[i], before, rows.all() - before - rows.own()));
  }
  return out;
}

std::vector<Value> define_reduce_scatter(Graph& graph, const Node& node) {
  std::vector<Value> out;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const RankRows rows = rows_of_operand(node, i);
    out.push_back(own_slice(graph, node.inputs[i], rows.first(rows.rank), rows.own()));
  }
  return out;
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

// The gradients of all operands whose results have cotangents, by one exchange the other way.
template <typename Back>
void gradient_back(GradientContext& c, Back&& back) {
  std::vector<Value> given;
  std::vector<RankRows> rows;
  std::vector<size_t> places;
  for (size_t i = 0; i < c.cotangents.size(); ++i)
    if (c.cotangents[i])
      given.push_back(c.cotangents[i]), rows.push_back(rows_of_operand(c.node, i)), places.push_back(i);
  const std::vector<Value> made = back(c.graph, given, rows);
  for (size_t i = 0; i < made.size(); ++i) c.results[places[i]] = made[i];
}

void all_gather_gradient(GradientContext& c) {
  gradient_back(c,
                [](Graph& graph, const auto& given, const auto& rows) { return reduce_scatter(graph, given, rows); });
}

void reduce_scatter_gradient(GradientContext& c) {
  gradient_back(c, [](Graph& graph, const auto& given, const auto& rows) { return all_gather(graph, given, rows); });
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

std::vector<Value> all_gather(Graph& graph, std::vector<Value> arrays, const std::vector<RankRows>& rows) {
  if (arrays.empty()) return {};
  return graph.add_all(ops::all_gather, std::move(arrays), attributes_of(rows));
}

std::vector<Value> reduce_scatter(Graph& graph, std::vector<Value> arrays, const std::vector<RankRows>& rows) {
  if (arrays.empty()) return {};
  return graph.add_all(ops::reduce_scatter, std::move(arrays), attributes_of(rows));
}

Value columns_to_rows(Graph& graph, Value x, const RankRows& rows) {
  return graph.add(ops::all_to_all, {x}, attributes_of(rows).with("back", int64_t(0)));
}

Value rows_to_columns(Graph& graph, Value x, const RankRows& rows) {
  return graph.add(ops::all_to_all, {x}, attributes_of(rows).with("back", int64_t(1)));
}

}  // namespace neon
