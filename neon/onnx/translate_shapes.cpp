// Ops that move numbers: reshape, transpose, concat, slice, gather, broadcast, and casts.
#include <algorithm>
#include <optional>

#include "backends/graph/ops.h"
#include "neon/onnx/translator.h"

namespace neon::onnx {

std::string part_along(Translator& to, const std::string& x, int64_t axis, int64_t first, int64_t count) {
  const auto list = [&](int64_t number) { return to.writer().list({number}); };
  return to.writer().add("Slice", {x, list(first), list(first + count), list(axis)});
}

namespace {

using Sizes = std::vector<int64_t>;

bool depends_on_batch(int64_t size) { return size < 0; }

// The axes of several elements, in their order among `axes`.
std::vector<int> large_axes(const Shape& shape, const Order& axes) {
  std::vector<int> out;
  for (const int axis : axes)
    if (shape[axis] != 1) out.push_back(axis);
  return out;
}

// An array may stay as it is if a reshape only puts axes of one element elsewhere: the order of its axes as those of y.
// Nothing for other reshapes.
std::optional<Order> same_array(const Shape& x, const Shape& y, const Order& order) {
  const Order from = usual_order(x.rank()), to = usual_order(y.rank());
  const std::vector<int> x_axes = large_axes(x, from), y_axes = large_axes(y, to);
  if (x.rank() != y.rank() || x_axes.size() != y_axes.size()) return {};
  for (size_t i = 0; i < x_axes.size(); ++i)
    if (x[x_axes[i]] != y[y_axes[i]]) return {};
  Order out;
  int one = 0;  // the next axis of y with one element
  for (const int axis : order) {
    const auto found = std::ranges::find(x_axes, axis);
    while (found == x_axes.end() && y[one] != 1) ++one;
    out.push_back(found == x_axes.end() ? one++ : y_axes[size_t(found - x_axes.begin())]);
  }
  return out;
}

void translate_reshape(Translator& to, int index) {
  const Node& node = to.graph().node(index);
  const Value x = node.inputs[0], y = node.outputs[0];
  const Shape &from = to.graph().shape(x), &shape = to.graph().shape(y);
  const Order order = to.order_of(x);
  if (const auto same = same_array(from, shape, order)) return to.place(y, to.in_order(x, order), *same);
  Sizes sizes = to.net().numbers(index, "shape");
  if (std::ranges::count_if(sizes, depends_on_batch) > 1)
    fail(ErrorKind::config, place_of(node), " makes two axes of the samples, which has no counterpart in ONNX");
  for (int64_t& size : sizes) size = std::max<int64_t>(size, -1);
  const bool in_place = std::ranges::is_sorted(large_axes(from, order));
  to.place(y, to.writer().add("Reshape", {in_place ? to.in_order(x, order) : to.as_it_is(x), to.writer().list(sizes)}));
}

// The array is the same: its axes mean others.
void translate_transpose(Translator& to, const Node& node) {
  const Value x = node.inputs[0];
  const Sizes& permutation = node.attributes.integers("permutation");
  const Order order = to.order_of(x), places = places_of({permutation.begin(), permutation.end()});
  Order now;
  for (const int axis : order) now.push_back(places[size_t(axis)]);
  to.place(node.outputs[0], to.in_order(x, order), now);
}

void translate_concat(Translator& to, const Node& node) {
  const auto axis = size_t(node.attributes.integer("axis"));
  Order order = usual_order(to.graph().shape(node.outputs[0]).rank());
  for (const Value input : node.inputs)
    if (!to.constant(input)) order = to.order_of(input);
  std::vector<std::string> parts;
  for (const Value input : node.inputs) parts.push_back(to.in_order(input, order));
  const int64_t place = places_of(order)[axis];
  to.place(node.outputs[0], to.writer().add("Concat", parts, {{"axis", place}}), order);
}

void translate_slice(Translator& to, const Node& node) {
  const Value x = node.inputs[0];
  const Order order = to.order_of(x);
  const int64_t place = places_of(order)[size_t(node.attributes.integer("axis"))];
  to.place(
      node.outputs[0],
      part_along(to, to.in_order(x, order), place, node.attributes.integer("first"), node.attributes.integer("count")),
      order);
}

void translate_gather(Translator& to, const Node& node) {
  const std::string rows = to.as_it_is(node.inputs[0]);
  to.place(node.outputs[0], to.writer().add("Gather", {rows, to.as_it_is(node.inputs[1])}, {{"axis", int64_t(0)}}));
}

void translate_broadcast(Translator& to, int index) {
  const Node& node = to.graph().node(index);
  const Value x = node.inputs[0];
  Sizes sizes = to.net().numbers(index, "shape"), own = to.constant(x) ? Sizes() : to.net().sizes(x);
  own.insert(own.begin(), sizes.size() - own.size(), 1);
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (!depends_on_batch(sizes[i])) continue;
    if (own[i] != sizes[i])
      fail(ErrorKind::config, place_of(node), " repeats numbers for each sample, which has no translation to ONNX");
    sizes[i] = 1;  // Expand keeps the larger size
  }
  to.place(node.outputs[0], to.writer().add("Expand", {to.as_it_is(x), to.writer().list(sizes)}));
}

// Floating types are all f32 in the file, whole numbers have 64 bits.
void translate_cast(Translator& to, const Node& node) {
  const Value x = node.inputs[0], y = node.outputs[0];
  const Order order = to.order_of(x);
  const bool floats = is_floating(to.graph().dtype(y));
  std::string name = to.in_order(x, order);
  if (floats != is_floating(to.graph().dtype(x)))
    name = to.writer().add("Cast", {name}, {{"to", floats ? kTypeF32 : kTypeI64}});
  to.place(y, name, order);
}

}  // namespace

bool translate_shapes(Translator& to, int index) {
  const Node& node = to.graph().node(index);
  if (node.op->is(ops::reshape)) return translate_reshape(to, index), true;
  if (node.op->is(ops::broadcast)) return translate_broadcast(to, index), true;
  const bool known = node.op->is(ops::transpose) || node.op->is(ops::concat) || node.op->is(ops::slice) ||
                     node.op->is(ops::gather) || node.op->is(ops::cast);
  if (!known) return false;
  to.net().check_same_attributes(index);
  if (node.op->is(ops::transpose)) translate_transpose(to, node);
  else if (node.op->is(ops::concat)) translate_concat(to, node);
  else if (node.op->is(ops::slice)) translate_slice(to, node);
  else if (node.op->is(ops::gather)) translate_gather(to, node);
  else translate_cast(to, node);
  return true;
}

}  // namespace neon::onnx
