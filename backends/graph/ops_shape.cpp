// Moving elements without changing them: reshape, transpose, concat, slice, split, gather and its adjoint.
#include <numeric>

#include "backends/graph/expression.h"
#include "backends/graph/ops.h"

namespace neon {

namespace {

std::vector<TensorType> infer_reshape(const InferContext& c) {
  const Shape to(c.attributes.integers("shape"));
  if (to.elements() != c.inputs[0].shape.elements())
    fail(ErrorKind::config, "cannot reshape ", c.inputs[0].shape, " with ", c.inputs[0].shape.elements(),
         " elements to ", to, " with ", to.elements());
  return {{c.inputs[0].dtype, to}};
}
void reshape_gradient(GradientContext& c) { c.results[0] = reshape(c.graph, c.cotangent(), c.graph.shape(c.input(0))); }

std::vector<TensorType> infer_transpose(const InferContext& c) {
  const auto& permutation = c.attributes.integers("permutation");
  const Shape& from = c.inputs[0].shape;
  std::vector<int64_t> sizes;
  std::vector<bool> seen(permutation.size(), false);
  for (int64_t axis : permutation) {
    if (int(permutation.size()) != from.rank() || axis < 0 || axis >= from.rank() || seen[size_t(axis)])
      fail(ErrorKind::config, "axes ", Shape(permutation), " are no permutation of the axes of ", from);
    seen[size_t(axis)] = true;
    sizes.push_back(from[int(axis)]);
  }
  return {{c.inputs[0].dtype, Shape(sizes)}};
}
void transpose_gradient(GradientContext& c) {
  const auto& permutation = c.node.attributes.integers("permutation");
  std::vector<int64_t> inverse(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) inverse[size_t(permutation[i])] = int64_t(i);
  c.results[0] = transpose(c.graph, c.cotangent(), inverse);
}

// All inputs in a row along `axis`; the other sizes agree.
std::vector<TensorType> infer_concat(const InferContext& c) {
  const int axis = int(c.attributes.integer("axis"));
  if (c.inputs.empty()) fail(ErrorKind::config, "concat takes at least one array");
  const TensorType& first = c.inputs[0];
  if (axis < 0 || axis >= first.shape.rank())
    fail(ErrorKind::config, "cannot join along axis ", axis, " of ", first.shape);
  int64_t total = 0;
  for (const TensorType& input : c.inputs) {
    const bool fits = input.dtype == first.dtype && input.shape.rank() == first.shape.rank() &&
                      input.shape.with(axis, 1) == first.shape.with(axis, 1);
    if (!fits) fail(ErrorKind::config, "cannot join ", first, " and ", input, " along axis ", axis);
    total += input.shape[axis];
  }
  return {{first.dtype, first.shape.with(axis, total)}};
}
void concat_gradient(GradientContext& c) {
  const int64_t axis = c.node.attributes.integer("axis");
  int64_t first = 0;
  for (size_t i = 0; i < c.node.inputs.size(); ++i) {
    const int64_t count = c.graph.shape(c.node.inputs[i])[int(axis)];
    if (c.wanted[i])
      c.results[i] = c.graph.add("slice", {c.cotangent()}, {{"axis", axis}, {"first", first}, {"count", count}});
    first += count;
  }
}

// Elements first .. first + count - 1 along `axis`.
std::vector<TensorType> infer_slice(const InferContext& c) {
  const int axis = int(c.attributes.integer("axis"));
  const int64_t first = c.attributes.integer("first"), count = c.attributes.integer("count");
  const Shape& from = c.inputs[0].shape;
  if (axis < 0 || axis >= from.rank() || first < 0 || count < 0 || count > from[axis] || first > from[axis] - count)
    fail(ErrorKind::config, count, " elements from ", first, " on of axis ", axis, " are not in ", from);
  return {{c.inputs[0].dtype, from.with(axis, count)}};
}
Value zeros_of(Graph& graph, DType dtype, const Shape& shape) {
  return broadcast_to(graph, graph.constant(0, dtype), shape);
}
Value in_one(Graph& graph, const std::vector<Value>& parts, int axis) {
  return parts.size() == 1 ? parts[0] : graph.add("concat", parts, {{"axis", int64_t(axis)}});
}
void slice_gradient(GradientContext& c) {
  const int axis = int(c.node.attributes.integer("axis"));
  const int64_t first = c.node.attributes.integer("first"), count = c.node.attributes.integer("count");
  const Shape from = c.graph.shape(c.input(0));
  const DType dtype = c.graph.dtype(c.input(0));
  const int64_t behind = from[axis] - first - count;
  std::vector<Value> parts;
  if (first > 0) parts.push_back(zeros_of(c.graph, dtype, from.with(axis, first)));
  parts.push_back(c.cotangent());
  if (behind > 0) parts.push_back(zeros_of(c.graph, dtype, from.with(axis, behind)));
  c.results[0] = in_one(c.graph, parts, axis);
}

// All of x along `axis` in parts of `sizes`, one result each. The gradient is one concatenation of the parts', where
// each slice would have an array as large as x: of a sequence cut in its steps that takes memory by the square of their
// number.
std::vector<TensorType> infer_split(const InferContext& c) {
  const int axis = int(c.attributes.integer("axis"));
  const auto& sizes = c.attributes.integers("sizes");
  const TensorType& from = c.inputs[0];
  if (axis < 0 || axis >= from.shape.rank())
    fail(ErrorKind::config, "cannot split along axis ", axis, " of ", from.shape);
  int64_t left = from.shape[axis];
  std::vector<TensorType> out;
  for (int64_t size : sizes) {
    if (size < 0 || size > left) left = -1;
    if (left < 0) break;
    left -= size;
    out.push_back({from.dtype, from.shape.with(axis, size)});
  }
  if (left != 0 || out.empty())
    fail(ErrorKind::config, "parts of ", Attributes{{"sizes", sizes}}, " do not add up to axis ", axis, " of ",
         from.shape);
  return out;
}
std::vector<Value> define_split(Graph& graph, const Node& node) {
  const int64_t axis = node.attributes.integer("axis");
  std::vector<Value> out;
  int64_t first = 0;
  for (int64_t count : node.attributes.integers("sizes")) {
    out.push_back(graph.add("slice", node.inputs, {{"axis", axis}, {"first", first}, {"count", count}}));
    first += count;
  }
  return out;
}
void split_gradient(GradientContext& c) {
  std::vector<Value> parts;
  for (size_t i = 0; i < c.cotangents.size(); ++i) {
    const TensorType& type = c.graph.type(c.node.outputs[i]);
    parts.push_back(c.cotangents[i] ? c.cotangents[i] : zeros_of(c.graph, type.dtype, type.shape));
  }
  c.results[0] = in_one(c.graph, parts, int(c.node.attributes.integer("axis")));
}

// data (n, ...), indices (N) i32 -> (N, ...)
std::vector<TensorType> infer_gather(const InferContext& c) {
  const TensorType &data = c.inputs[0], &indices = c.inputs[1];
  if (data.shape.rank() < 1 || indices.shape.rank() != 1 || indices.dtype != DType::i32)
    fail(ErrorKind::config, "gather takes data with rows and a list of i32 indices, got ", data, " and ", indices);
  return {{data.dtype, data.shape.with(0, indices.shape[0])}};
}
void gather_gradient(GradientContext& c) {
  c.results[0] = c.graph.add("scatter_add", {c.cotangent(), c.input(1)}, {{"rows", c.graph.shape(c.input(0))[0]}});
}

// values (N, ...), indices (N) i32 -> (rows, ...): row indices[i] receives values[i]; repeated ones add up.
std::vector<TensorType> infer_scatter_add(const InferContext& c) {
  const TensorType &values = c.inputs[0], &indices = c.inputs[1];
  if (values.shape.rank() < 1 || indices.shape != Shape{values.shape[0]} || indices.dtype != DType::i32)
    fail(ErrorKind::config, "scatter_add takes a row of values for each i32 index, got ", values, " and ", indices);
  return {{values.dtype, values.shape.with(0, c.attributes.integer("rows"))}};
}
void scatter_add_gradient(GradientContext& c) { c.results[0] = gather(c.graph, c.cotangent(), c.input(1)); }

const OpRegistration shape_ops[] = {
    OpRegistration({ops::reshape,
                    infer_reshape,
                    reshape_gradient,
                    nullptr,
                    {.fusion = Fusion::view, .moves = true, .exact = true}}),
    OpRegistration({ops::transpose, infer_transpose, transpose_gradient, nullptr, {.moves = true}}),
    OpRegistration({ops::concat, infer_concat, concat_gradient}),
    OpRegistration(
        {ops::slice, infer_slice, slice_gradient, nullptr, {.fusion = Fusion::slice, .moves = true, .exact = true}}),
    OpRegistration({ops::split, infer_split, split_gradient, define_split}),
    OpRegistration({ops::gather,
                    infer_gather,
                    gather_gradient,
                    nullptr,
                    {.fusion = Fusion::rows, .exact = true, .looks_up = true}}),
    OpRegistration({ops::scatter_add, infer_scatter_add, scatter_add_gradient, nullptr, {.looks_up = true}}),
};

}  // namespace

}  // namespace neon
