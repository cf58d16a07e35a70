#include "neon/array/array.h"

#include <algorithm>
#include <cstring>

#include "backends/graph/expression.h"
#include "neon/array/node.h"

namespace neon {

namespace {

Backend::State& state_of(const NodePtr& node) {
  if (!node->state) fail(ErrorKind::config, "an expression of numbers alone is on no backend; use full()");
  return *node->state;
}

NodePtr broadcast_to_target(const NodePtr& value, const Shape& shape) {
  if (!broadcasts_to(value->type.shape, shape))
    fail(ErrorKind::config, "cannot assign ", value->type.shape, " to an array of ", shape);
  return Lazy(value).broadcast(shape).node();
}

NodePtr in_type(const NodePtr& value, DType dtype, int rounding) {
  if (rounding == 0) {
    return cast_node(value, dtype);
  }
  return round_by_chance(Lazy(value), rounding, dtype).node();
}

// A view's value in the array that it shows, and so on to the array that is dense.
Target through(const NodePtr& place, const NodePtr& value) {
  if (place->is_array()) return {place, value};
  const NodePtr& whole = place->inputs[0];
  const Shape& shape = whole->type.shape;
  if (place->is(ops::reshape)) return through(whole, Lazy(value).reshape({shape.begin(), shape.end()}).node());
  if (place->is(ops::transpose)) {
    const auto& axes = place->attributes.integers("permutation");
    std::vector<int64_t> inverse(axes.size());
    for (size_t i = 0; i < axes.size(); ++i) inverse[size_t(axes[i])] = int64_t(i);
    return through(whole, Lazy(value).transpose(inverse).node());
  }
  NEON_ASSERT(place->is(ops::slice));
  const int axis = int(place->attributes.integer("axis"));
  const int64_t first = place->attributes.integer("first"), count = place->attributes.integer("count");
  std::vector<Lazy> parts;
  if (first > 0) parts.push_back(Lazy(whole).slice(axis, 0, first));
  parts.push_back(Lazy(value));
  if (const int64_t rest = shape[axis] - first - count; rest > 0)
    parts.push_back(Lazy(whole).slice(axis, first + count, rest));
  return through(whole, parts.size() == 1 ? value : concatenate(parts, axis).node());
}

}  // namespace

Target target_of(const NodePtr& place, const NodePtr& value, int rounding) {
  if (value->state && value->state != place->state)
    fail(ErrorKind::config, "arrays of two backends meet in one assignment; copy one with get() and array()");
  return through(place, in_type(broadcast_to_target(value, place->type.shape), place->type.dtype, rounding));
}

Array::Array(const Lazy& value) : Lazy(value) {
  Backend::State& state = state_of(value.node());
  const NodePtr made = state.new_array(value.node()->state, {value.dtype(), value.shape()});
  evaluate(state, {{made, value.node()}});
  static_cast<Lazy&>(*this) = Lazy(made);
}

Array& Array::assign(const Lazy& value) {
  evaluate(state_of(node()), {target_of(node(), value.node(), rounding_)});
  return *this;
}

Array& Array::set(const Tensor& values) {
  if (values.shape() != shape()) fail(ErrorKind::config, "cannot set an array of ", shape(), " to ", values.shape());
  if (values.empty() && elements() > 0)
    fail(ErrorKind::config, "cannot set an array of ", shape(), " to a tensor without elements in memory");
  const Tensor stored = values.dtype() == dtype() ? values : values.converted(dtype());
  if (node()->is_array()) {
    node()->memory->upload(stored.data(), stored.bytes(), node()->offset);
    return *this;
  }
  const NodePtr given = state_of(node()).new_array(node()->state, {dtype(), shape()});
  given->memory->upload(stored.data(), stored.bytes(), 0);
  return assign(Lazy(given));
}

Tensor Array::get() const {
  if (!node()->is_array()) return Array(static_cast<const Lazy&>(*this)).get();
  Tensor out(dtype(), shape());
  node()->memory->download(out.data(), out.bytes(), node()->offset);
  return out;
}

Array& Array::put(const Lazy& indices, const Lazy& rows, int axis) {
  axis = checked_axis(shape(), axis);
  const Tensor places = Array(checked_indices("put", indices)).get();
  const int64_t count = places.elements(), length = shape()[axis];
  // Which of the rows each place takes, if any.
  Tensor from(DType::i32, {length}), taken(DType::u8, {length});
  for (int64_t k = 0; k < count; ++k) {
    const auto at = int64_t(places.at(k));
    if (at < 0 || at >= length)
      fail(ErrorKind::config, "put: index ", at, " at place ", k, " is not in [0, ", length, ")");
    from.set(at, double(k)), taken.set(at, 1);
  }
  const Shape given = shape().with(axis, count);
  if (!broadcasts_to(rows.shape(), given))
    fail(ErrorKind::config, "cannot put ", rows.shape(), " to ", count, " places of axis ", axis, " of ", shape());
  if (count == 0) return *this;
  const auto new_array = [&](const TensorType& type) {
    return Array(Place{}, state_of(node()).new_array(node()->state, type));
  };
  std::vector<int64_t> along(size_t(shape().rank()), 1);
  along[size_t(axis)] = length;
  const Lazy is_taken = new_array({taken.dtype(), taken.shape()}).set(taken).reshape(along);
  // A number is the same in every row.
  Lazy chosen = rows;
  if (rows.node()->kind != Lazy::Node::Kind::number)
    chosen =
        take(new_array({rows.dtype(), given}).assign(rows), new_array({from.dtype(), from.shape()}).set(from), axis);
  // Elements that stay are not rounded anew.
  if (rounding_ > 0) chosen = neon::round_by_chance(chosen.broadcast(shape()), rounding_, dtype());
  evaluate(state_of(node()), {target_of(node(), where(is_taken, chosen, *this).node(), 0)});
  return *this;
}

double Array::item() const {
  if (elements() != 1) fail(ErrorKind::config, "item() is of an array of one element, not of ", shape());
  return get().at(0);
}

Array& Array::round_by_chance(int bits) {
  const bool rounds = is_floating(dtype()) && bits != 0;
  if (bits < 0 || (rounds && (dtype() == DType::f64 || bits > most_kept_bits(dtype()))))
    fail(ErrorKind::config, "stochastic rounding keeps 1 to 15 bits of f32, 10 of f16, 7 of bf16, not ", bits, " of ",
         dtype());
  rounding_ = bits;
  return *this;
}

void Backend::assign(const std::vector<std::pair<Array, Lazy>>& assignments) const {
  std::vector<Target> targets;
  for (const auto& [array, value] : assignments)
    targets.push_back(target_of(array.node(), value.node(), array.rounding_));
  evaluate(*state_, targets);
}

namespace {

Array& put_product(Lazy product, Array& c, const DotOptions& options) {
  if (product.shape() != c.shape())
    fail(ErrorKind::config, "a product of ", product.shape(), " does not fit an array of ", c.shape());
  if (options.alpha != 1) product = product * options.alpha;
  if (options.relu) product = relu(product);
  if (options.beta != 0) product = product + options.beta * c;
  return c.assign(product);
}

// A pair of matrices that takes more multiplications is left to what multiplies two best; smaller ones are multiplied
// all at once.
constexpr int64_t kMostTogether = int64_t(1) << 21;

// A stack that is a view with matrices transposed, and that it is one.
bool is_turned(const NodePtr& stack) {
  return stack->is(ops::transpose) && stack->attributes.integers("permutation") == std::vector<int64_t>{0, 2, 1};
}

// (B,M,K) or (M,K) times (B,K,N), all at once.
Lazy product_of_stacks(const Lazy& a, const Lazy& b) {
  std::vector<NodePtr> operands;
  int64_t turned[2] = {};
  for (const Lazy& stack : {a.shape().rank() == 3 ? a : a.broadcast({b.shape()[0], a.shape()[0], a.shape()[1]}), b}) {
    turned[operands.size()] = is_turned(stack.node());
    operands.push_back(is_turned(stack.node()) ? stack.node()->inputs[0] : stack.node());
  }
  if (operands[0]->type.dtype != operands[1]->type.dtype || !is_floating(a.dtype()))
    operands = in_arithmetic(std::move(operands));
  return Lazy(
      make_node(ops::batch_matmul, std::move(operands), {{"transpose_a", turned[0]}, {"transpose_b", turned[1]}}));
}

// Matrix i of many, or the only one. A stack of transposed matrices gives transposed ones.
Lazy matrix(const Lazy& stack, int64_t i) {
  const Shape& shape = stack.shape();
  if (shape.rank() == 2) return stack;
  if (is_turned(stack.node())) return matrix(Lazy(stack.node()->inputs[0]), i).T();
  return stack.slice(0, i, 1).reshape({shape[1], shape[2]});
}

const DeviceMemory* memory_of(const NodePtr& place) {
  return place->is_array() ? place->memory.get() : memory_of(place->inputs[0]);
}

// An array of it, that parts of it need not be computed one by one, nor read after others were written.
Lazy evaluated(const Lazy& stack, const DeviceMemory* written) {
  if (is_turned(stack.node())) return evaluated(Lazy(stack.node()->inputs[0]), written).transpose({0, 2, 1});
  if (stack.node()->is_array() && stack.node()->memory.get() != written) return stack;
  return Array(stack);
}

// (B,M,K) side by side: (M, B K), or below one another: (B K, N)
Lazy side_by_side(const Lazy& stack) { return stack.transpose({1, 0, 2}).reshape({stack.shape()[1], -1}); }

}  // namespace

Array& compound_dot(const Lazy& a, const Lazy& b, Array& c, const DotOptions& options) {
  return put_product(dot(a, b), c, options);
}

Array& batched_dot(const Lazy& a, const Lazy& b, Array& c, const DotOptions& options) {
  const int ranks[] = {a.shape().rank(), b.shape().rank(), c.shape().rank()};
  const bool many_a = ranks[0] == 3, many_b = ranks[1] == 3;
  const int64_t count = many_a ? a.shape()[0] : many_b ? b.shape()[0] : 0;
  const bool fit = (!many_a || a.shape()[0] == count) && (!many_b || b.shape()[0] == count) &&
                   (ranks[2] != 3 || c.shape()[0] == count);
  if ((!many_a && !many_b) || std::ranges::min(ranks) < 2 || std::ranges::max(ranks) > 3 || !fit)
    fail(ErrorKind::config,
         "batched_dot takes stacks (B,M,K) and (B,K,N), or one of them a matrix, and gives (B,M,N) or ",
         "their sum (M,N); got ", a.shape(), ", ", b.shape(), " and ", c.shape());
  if (ranks[2] == 2) {
    if (!many_b) return compound_dot(sum(a, 0).reshape({a.shape()[1], a.shape()[2]}), b, c, options);
    if (!many_a) return compound_dot(a, sum(b, 0).reshape({b.shape()[1], b.shape()[2]}), c, options);
    return compound_dot(side_by_side(a), b.reshape({-1, b.shape()[2]}), c, options);
  }
  if (!many_b) {
    Array rows = c.reshape({-1, c.shape()[2]});
    compound_dot(a.reshape({-1, a.shape()[2]}), b, rows, options);
    return c;
  }
  if (a.shape().back() * c.shape()[1] * c.shape()[2] <= kMostTogether)
    return put_product(product_of_stacks(a, b), c, options);
  const DeviceMemory* written = memory_of(c.node());
  const Lazy left = evaluated(a, written), right = evaluated(b, written);
  for (int64_t i = 0; i < count; ++i) {
    Array one = c.slice(0, i, 1).reshape({c.shape()[1], c.shape()[2]});
    compound_dot(matrix(left, i), matrix(right, i), one, options);
  }
  return c;
}

void compensated_sum(Array& a, Array& carry, const Lazy& b, double carry_scale, double add_scale) {
  if (a.shape() != carry.shape() || !is_floating(a.dtype()) || !is_floating(carry.dtype()))
    fail(ErrorKind::config, "a compensated sum takes two floating arrays of one shape, got ", a.dtype(), " ", a.shape(),
         " and ", carry.dtype(), " ", carry.shape());
  const Lazy added = add_scale * b - carry_scale * carry, total = a + added;
  // As it will be stored: what the rounding takes must be known before it is made.
  const Lazy stored = a.rounding() > 0 ? Lazy(in_type(total.node(), a.dtype(), a.rounding())) : total.cast(a.dtype());
  const NodePtr& place = a.node();
  evaluate(state_of(place),
           {target_of(place, stored.node(), 0), target_of(carry.node(), ((stored - a) - added).node(), 0)});
}

}  // namespace neon
