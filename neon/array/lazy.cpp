#include "neon/array/lazy.h"

#include <algorithm>
#include <climits>
#include <numeric>

#include "backends/elementwise/kernels.h"
#include "backends/graph/op.h"
#include "neon/array/node.h"

namespace neon {

namespace {

std::vector<int64_t> list(const Shape& shape) { return {shape.begin(), shape.end()}; }

bool is_number(const NodePtr& node) { return node->kind == Lazy::Node::Kind::number; }

bool is_product(const Lazy::Node& node) { return node.is(ops::matmul) || node.is(ops::batch_matmul); }

// Whether a value of 16 bits may have more in an expression: a product, and moves or sums of one.
bool may_be_wide(const Lazy::Node& node) {
  if (size_of(node.type.dtype) != 2 || node.rounded) return false;
  const bool moves = node.is(ops::reshape) || node.is(ops::transpose) || node.is(ops::slice) || node.is(ops::split);
  return is_product(node) || node.is(ops::relu) || (moves && !node.inputs[0]->is_array());
}

}  // namespace

std::shared_ptr<Backend::State> common_state(const std::vector<NodePtr>& inputs) {
  std::shared_ptr<Backend::State> state;
  for (const NodePtr& input : inputs) {
    if (!input->state || input->state == state) continue;
    if (state)
      fail(ErrorKind::config, "arrays of two backends meet in one expression; copy one with get() and array()");
    state = input->state;
  }
  return state;
}

NodePtr make_node(OpName name, std::vector<NodePtr> inputs, Attributes attributes, size_t result) {
  const Op* op = find_op(name);
  NEON_ASSERT(op);
  return make_node(*op, std::move(inputs), std::move(attributes), result);
}

NodePtr make_node(const Op& op, std::vector<NodePtr> inputs, Attributes attributes, size_t result) {
  auto node = std::make_shared<Lazy::Node>();
  std::vector<TensorType> types;
  for (const NodePtr& input : inputs) {
    types.push_back(input->type);
    node->depth = std::max(node->depth, input->depth + 1);
  }
  if (node->depth > kDeepest)
    fail(ErrorKind::config, "an expression is more than ", kDeepest, " operations deep; make an Array of a part of it");
  node->op = &op;
  attributes.belong_to(op.name);
  node->type = op.infer({types, attributes}).at(result);
  node->result = int(result);
  node->state = common_state(inputs);
  node->inputs = std::move(inputs);
  node->attributes = std::move(attributes);
  return node;
}

NodePtr array_node(std::shared_ptr<Backend::State> state, std::shared_ptr<DeviceMemory> memory, size_t offset,
                   const TensorType& type, NodePtr view) {
  auto node = std::make_shared<Lazy::Node>();
  node->kind = Lazy::Node::Kind::array;
  node->type = type;
  node->memory = std::move(memory);
  node->offset = offset;
  node->state = std::move(state);
  node->depth = view ? view->depth : 0;
  node->view = std::move(view);
  return node;
}

bool broadcasts_to(const Shape& shape, const Shape& to) {
  if (shape.rank() > to.rank()) return false;
  for (int axis = 1; axis <= shape.rank(); ++axis) {
    const int64_t size = shape[shape.rank() - axis];
    if (size != 1 && size != to[to.rank() - axis]) return false;
  }
  return true;
}

NodePtr cast_node(NodePtr node, DType dtype) {
  if (is_number(node) || node->type.dtype == dtype) return node;
  // A product of 16-bit operands has its sums in f32: they are rounded once, when they are stored, or told to be.
  if (may_be_wide(*node) && (dtype == DType::f32 || dtype == DType::f64)) {
    const NodePtr wide = is_product(*node)
                             ? make_node(*node->op, node->inputs, node->attributes.with(kWide, int64_t(1)))
                             : make_node(*node->op, {cast_node(node->inputs[0], DType::f32)}, node->attributes);
    return cast_node(wide, dtype);
  }
  return make_node(ops::cast, {std::move(node)}, {{"dtype", int64_t(dtype)}});
}

std::vector<NodePtr> in_arithmetic(std::vector<NodePtr> nodes) {
  const bool wide =
      std::ranges::any_of(nodes, [](const NodePtr& n) { return !is_number(n) && n->type.dtype == DType::f64; });
  for (NodePtr& node : nodes) node = cast_node(std::move(node), wide ? DType::f64 : DType::f32);
  return nodes;
}

int checked_axis(const Shape& shape, int axis) {
  if (axis < -shape.rank() || axis >= shape.rank()) fail(ErrorKind::config, "axis ", axis, " is no axis of ", shape);
  return axis < 0 ? axis + shape.rank() : axis;
}

Lazy::Lazy(double number) {
  auto node = std::make_shared<Node>();
  node->kind = Lazy::Node::Kind::number;
  node->number = number;
  node_ = std::move(node);
}

const Shape& Lazy::shape() const { return node_->type.shape; }
DType Lazy::dtype() const { return node_->type.dtype; }

Lazy Lazy::reshape(std::vector<int64_t> sizes) const {
  if (const auto open = std::ranges::count(sizes, -1); open > 1)
    fail(ErrorKind::config, "reshape: ", open, " sizes are -1; one at most is found from the others");
  std::vector<int64_t> given = sizes;
  std::ranges::replace(given, int64_t(-1), int64_t(1));
  const int64_t known = Shape(given).elements();
  for (int64_t& size : sizes)
    if (size == -1) size = known ? shape().elements() / known : 0;
  const Shape to(sizes);
  if (to.elements() != shape().elements())
    fail(ErrorKind::config, "cannot reshape ", shape(), " with ", shape().elements(), " elements to ", to, " with ",
         to.elements());
  NodePtr view = make_node(ops::reshape, {node_}, {{"shape", std::move(sizes)}});
  if (!node_->is_array()) return Lazy(view);
  return Lazy(array_node(node_->state, node_->memory, node_->offset, {dtype(), to}, view));
}

Lazy Lazy::transpose(std::vector<int64_t> axes) const {
  for (int64_t& axis : axes) axis = checked_axis(shape(), int(std::clamp<int64_t>(axis, INT_MIN, INT_MAX)));
  if (axes.empty()) {
    axes.resize(size_t(shape().rank()));
    std::iota(axes.rbegin(), axes.rend(), 0);
  }
  return Lazy(make_node(ops::transpose, {node_}, {{"permutation", std::move(axes)}}));
}

std::vector<Lazy> split(const Lazy& a, const std::vector<int64_t>& sizes, int axis) {
  const Attributes attributes = {{"axis", int64_t(checked_axis(a.shape(), axis))}, {"sizes", sizes}};
  std::vector<Lazy> out;
  for (size_t part = 0; part < std::max<size_t>(sizes.size(), 1); ++part)
    out.push_back(Lazy(make_node(ops::split, {a.node()}, attributes, part)));
  return out;
}

Lazy Lazy::slice(int axis, int64_t first, int64_t count) const {
  axis = checked_axis(shape(), axis);
  NodePtr view = make_node(ops::slice, {node_}, {{"axis", int64_t(axis)}, {"first", first}, {"count", count}});
  // Dense itself, and a place where kernels can begin.
  if (!node_->is_array() || shape().slice(0, axis).elements() != 1) return Lazy(view);
  const size_t skipped = size_t(first * shape().slice(axis + 1, shape().rank()).elements()) * size_of(dtype());
  if ((node_->offset + skipped) % kArrayAlignment != 0) return Lazy(view);
  return Lazy(array_node(node_->state, node_->memory, node_->offset + skipped, view->type, view));
}

namespace {

// Rounded here, not only where it is stored: a kernel's numbers have the type of its arithmetic, which is f64 where
// anything in it is.
NodePtr rounded_node(const NodePtr& node, DType to) {
  if (!is_floating(to) || to == DType::f64) return cast_node(node, to);
  const bool fits = size_of(node->type.dtype) == 2 && to == DType::f32;
  const OpName row = to == DType::f16 ? ops::as_f16 : to == DType::bf16 ? ops::as_bf16 : ops::as_f32;
  const NodePtr wide = in_arithmetic({node})[0];
  return cast_node(fits ? wide : make_node(row, {wide}), to);
}

}  // namespace

Lazy Lazy::cast(DType to) const {
  if (is_number(node_)) {
    Tensor number(to, {});
    number.set(0, node_->number);
    return Lazy(number.at(0));
  }
  if (node_->type.dtype != to) return Lazy(rounded_node(node_, to));
  if (may_be_wide(*node_)) {
    auto same = std::make_shared<Node>(*node_);
    same->rounded = true;
    return Lazy(std::move(same));
  }
  const bool computed = to == DType::f32 && !node_->is_array();
  return computed ? Lazy(rounded_node(node_, to)) : *this;
}

Lazy Lazy::broadcast(const Shape& to) const {
  if (shape() == to) return *this;
  return Lazy(make_node(ops::broadcast, {node_}, {{"shape", list(to)}}));
}

namespace {

Lazy elementwise_node(std::string_view function, std::vector<NodePtr> operands) {
  const elementwise::Row& row = elementwise::row(function);
  if (row.arity != int(operands.size()))
    fail(ErrorKind::config, "function '", row.name, "' takes ", row.arity, " operands, not ", operands.size());
  const Op* op = find_op(row.name);
  NEON_ASSERT(op);
  // Kernels of products do this one in the product's own type.
  if (op->is(ops::relu) && operands[0]->is(ops::matmul)) return Lazy(make_node(*op, std::move(operands)));
  return Lazy(make_node(*op, in_arithmetic(std::move(operands))));
}

Lazy reduced(OpName op, const Lazy& a, std::vector<int64_t> axes) {
  return Lazy(make_node(op, in_arithmetic({a.node()}), {{"axes", std::move(axes)}}));
}

std::vector<int64_t> one(const Lazy& a, int axis) { return {checked_axis(a.shape(), axis)}; }
std::vector<int64_t> all(const Lazy& a) {
  std::vector<int64_t> axes(size_t(a.shape().rank()));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

Lazy mean_over(const Lazy& a, const std::vector<int64_t>& axes) {
  int64_t count = 1;
  for (int64_t axis : axes) count *= a.shape()[int(axis)];
  return reduced(ops::sum, a, axes) * (1.0 / double(count));
}

Lazy var_over(const Lazy& a, const std::vector<int64_t>& axes) {
  return mean_over(square(a - mean_over(a, axes)), axes);
}

// A matrix, and whether it is stored transposed.
std::pair<NodePtr, int64_t> as_stored(const NodePtr& node) {
  const bool turned = node->is(ops::transpose) && node->type.shape.rank() == 2 &&
                      node->attributes.integers("permutation") == std::vector<int64_t>{1, 0};
  return turned ? std::pair(node->inputs[0], int64_t(1)) : std::pair(node, int64_t(0));
}

}  // namespace

Lazy apply(std::string_view function, const Lazy& a) { return elementwise_node(function, {a.node()}); }
Lazy apply(std::string_view function, const Lazy& a, const Lazy& b) {
  return elementwise_node(function, {a.node(), b.node()});
}
Lazy apply(std::string_view function, const Lazy& a, const Lazy& b, const Lazy& c) {
  return elementwise_node(function, {a.node(), b.node(), c.node()});
}

Lazy sum(const Lazy& a, int axis) { return reduced(ops::sum, a, one(a, axis)); }
Lazy sum(const Lazy& a) { return reduced(ops::sum, a, all(a)); }
Lazy max(const Lazy& a, int axis) { return reduced(ops::max, a, one(a, axis)); }
Lazy max(const Lazy& a) { return reduced(ops::max, a, all(a)); }
Lazy min(const Lazy& a, int axis) { return reduced(ops::min, a, one(a, axis)); }
Lazy min(const Lazy& a) { return reduced(ops::min, a, all(a)); }
Lazy mean(const Lazy& a, int axis) { return mean_over(a, one(a, axis)); }
Lazy mean(const Lazy& a) { return mean_over(a, all(a)); }
Lazy var(const Lazy& a, int axis) { return var_over(a, one(a, axis)); }
Lazy var(const Lazy& a) { return var_over(a, all(a)); }
Lazy stddev(const Lazy& a, int axis) { return sqrt(var(a, axis)); }
Lazy stddev(const Lazy& a) { return sqrt(var(a)); }
Lazy argmax(const Lazy& a, int axis) { return reduced(ops::argmax, a, one(a, axis)); }
Lazy argmin(const Lazy& a, int axis) { return argmax(-a, axis); }

Lazy dot(const Lazy& a, const Lazy& b) {
  auto [left, transpose_a] = as_stored(a.node());
  auto [right, transpose_b] = as_stored(b.node());
  std::vector<NodePtr> operands = {left, right};
  if (left->type.dtype != right->type.dtype || !is_floating(left->type.dtype))
    operands = in_arithmetic(std::move(operands));
  return Lazy(
      make_node(ops::matmul, std::move(operands), {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}}));
}

const Lazy& checked_indices(const char* function, const Lazy& indices) {
  if (indices.shape().rank() != 1) fail(ErrorKind::config, function, " takes a list of indices, got ", indices.shape());
  if (indices.dtype() != DType::i32)
    fail(ErrorKind::config, function, " takes i32 indices, not ", indices.dtype(), "; cast(DType::i32) makes them");
  return indices;
}

Lazy take(const Lazy& a, const Lazy& indices, int axis) {
  axis = checked_axis(a.shape(), axis);
  checked_indices("take", indices);
  auto rows = [&](const Lazy& data) { return Lazy(make_node(ops::gather, {data.node(), indices.node()})); };
  if (axis == 0) return rows(a);
  std::vector<int64_t> axes = all(a);
  std::swap(axes[0], axes[size_t(axis)]);
  return rows(a.transpose(axes)).transpose(axes);
}

Lazy onehot(const Lazy& indices, int64_t classes, int axis) {
  if (indices.shape().rank() != 1) fail(ErrorKind::config, "onehot takes a list of indices, got ", indices.shape());
  if (is_floating(indices.dtype()))
    fail(ErrorKind::config, "onehot takes integers, i32, not ", indices.dtype(), "; cast(DType::i32) rounds them");
  if (axis != 0 && axis != 1) fail(ErrorKind::config, "onehot: the classes are along axis 0 or 1, not ", axis);
  const std::vector<int64_t> shape = axis == 1 ? std::vector<int64_t>{1, classes} : std::vector<int64_t>{classes, 1};
  const Lazy of_class(make_node(ops::iota, {}, {{"shape", shape}, {"axis", int64_t(axis)}}));
  return indices.reshape(axis == 1 ? std::vector<int64_t>{-1, 1} : std::vector<int64_t>{1, -1}) == of_class;
}

Lazy concatenate(const std::vector<Lazy>& parts, int axis) {
  std::vector<NodePtr> nodes;
  for (const Lazy& part : parts) nodes.push_back(part.node());
  if (!nodes.empty()) {
    axis = checked_axis(nodes[0]->type.shape, axis);
    const bool same =
        std::ranges::all_of(nodes, [&](const NodePtr& n) { return n->type.dtype == nodes[0]->type.dtype; });
    if (!same) nodes = in_arithmetic(std::move(nodes));
  }
  return Lazy(make_node(ops::concat, std::move(nodes), {{"axis", int64_t(axis)}}));
}

Lazy round_by_chance(const Lazy& a, int bits, DType dtype) {
  const NodePtr drawn =
      make_node(ops::round_stochastic, in_arithmetic({a.node()}), {{"dtype", int64_t(dtype)}, {"bits", int64_t(bits)}});
  return Lazy(rounded_node(drawn, dtype));  // beyond its largest number, too
}

Lazy histogram(const Lazy& a, int64_t bins, int64_t offset) {
  return Lazy(make_node(ops::histogram, {a.node()}, {{"bins", bins}, {"offset", offset}}));
}

}  // namespace neon
