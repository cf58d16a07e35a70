#include "backends/graph/expression.h"

#include <algorithm>

#include "backends/graph/draw_places.h"
#include "backends/graph/ops.h"

namespace neon {

namespace {

std::vector<int64_t> list(const Shape& shape) { return {shape.begin(), shape.end()}; }

}  // namespace

Value reshape(Graph& graph, Value x, const Shape& shape) {
  if (graph.shape(x) == shape) return x;
  // The second of two in a row replaces both.
  if (const Node& node = graph.producer(x); node.op->is(ops::reshape)) return reshape(graph, node.inputs[0], shape);
  return graph.add("reshape", {x}, {{"shape", list(shape)}});
}

Value broadcast_to(Graph& graph, Value x, const Shape& shape) {
  if (graph.shape(x) == shape) return x;
  return graph.add("broadcast", {x}, {{"shape", list(shape)}});
}

Value cast(Graph& graph, Value x, DType dtype) {
  if (graph.dtype(x) == dtype) return x;
  return graph.add("cast", {x}, {{"dtype", int64_t(dtype)}});
}

Value matmul(Graph& graph, Value a, Value b, bool transpose_a, bool transpose_b) {
  return graph.add("matmul", {a, b}, {{"transpose_a", int64_t(transpose_a)}, {"transpose_b", int64_t(transpose_b)}});
}

Value gather(Graph& graph, Value data, Value indices) { return graph.add("gather", {data, indices}); }

Value iota(Graph& graph, const Shape& shape, int axis) {
  return graph.add(ops::iota, {}, {{"shape", list(shape)}, {"axis", int64_t(axis)}});
}

Value uniform(Graph& graph, const Shape& shape, uint64_t seed, const std::string& stream, int64_t first) {
  return uniform(graph, shape, seed, stream, DrawPlaces{first});
}

Value uniform(Graph& graph, const Shape& shape, uint64_t seed, const std::string& stream, const DrawPlaces& places) {
  Attributes attributes{{"shape", list(shape)}, {"seed", int64_t(seed)}, {"stream", stream}};
  if (places.first) attributes = attributes.with("first", places.first);
  if (!places.lengths.empty()) attributes = attributes.with("lengths", places.lengths).with("strides", places.strides);
  return graph.add("uniform", {}, attributes);
}

Value keyed_uniform(Graph& graph, Value keys, int64_t columns, uint64_t seed, const std::string& stream) {
  return graph.add("keyed_uniform", {keys}, {{"columns", columns}, {"seed", int64_t(seed)}, {"stream", stream}});
}

Value transpose(Graph& graph, Value x, std::vector<int64_t> permutation) {
  const Value y = graph.add("transpose", {x}, {{"permutation", permutation}});
  // Where only axes of one element change places, no number moves.
  std::erase_if(permutation, [&](int64_t axis) { return graph.shape(x)[int(axis)] == 1; });
  return std::ranges::is_sorted(permutation) ? reshape(graph, x, graph.shape(y)) : y;
}

Expr reduce(std::string_view kind, Expr a, std::vector<int64_t> axes) {
  if (axes.empty() && kind != std::string_view(ops::argmax) && is_floating(a.dtype())) return a;
  return {a.graph(), a.graph().add(kind, {a}, {{"axes", std::move(axes)}})};
}

std::vector<int64_t> all_axes(const Shape& shape) {
  std::vector<int64_t> axes;
  for (int axis = 0; axis < shape.rank(); ++axis) axes.push_back(axis);
  return axes;
}

Expr mean(Expr a, std::vector<int64_t> axes) {
  int64_t count = 1;
  for (int64_t axis : axes) count *= a.shape()[int(axis)];
  return sum(a, std::move(axes)) * (1.0 / double(count));
}

}  // namespace neon
