// Operators that move numbers.
#include "neon/onnx/evaluate_parts.h"

namespace neon::onnx {

namespace {

using Sizes = std::vector<int64_t>;

Sizes list_of(const Array& array) {
  Sizes out;
  for (const double number : array.numbers) out.push_back(int64_t(number));
  return out;
}

Array taken(const Array& x, Sizes sizes, const std::vector<int64_t>& places) {
  Array out{std::move(sizes), {}};
  for (const int64_t place : places) out.numbers.push_back(x.numbers.at(size_t(place)));
  return out;
}

Array reshaped(const Call& call) {
  Array out{list_of(call.in(1)), call.in(0).numbers};
  int64_t known = 1;
  for (const int64_t size : out.sizes) known *= size == -1 ? 1 : size;
  for (int64_t& size : out.sizes)
    if (size == -1) size = out.elements() / known;
  if (product_of(out.sizes) != out.elements())
    fail(ErrorKind::data, "node ", call.node.name, ": other numbers of elements");
  return out;
}

Array transposed(const Call& call) {
  const Array& x = call.in(0);
  const Sizes strides = strides_of(x.sizes);
  Sizes sizes, moved;
  for (const int64_t axis : call.node.attributes.integers("perm"))
    sizes.push_back(x.sizes.at(size_t(axis))), moved.push_back(strides[size_t(axis)]);
  return taken(x, sizes, places_by(sizes, moved));
}

Array joined(const Call& call) {
  const auto axis = size_t(call.node.attributes.integer("axis"));
  Array out{call.in(0).sizes, {}};
  out.sizes.at(axis) = 0;
  for (const Array* each : call.inputs) out.sizes[axis] += each->sizes.at(axis);
  int64_t rows = 1;
  for (size_t i = 0; i < axis; ++i) rows *= out.sizes[i];
  for (int64_t row = 0; row < rows; ++row)
    for (const Array* each : call.inputs) {
      const int64_t length = each->elements() / rows;
      out.numbers.insert(out.numbers.end(), each->numbers.begin() + row * length,
                         each->numbers.begin() + (row + 1) * length);
    }
  return out;
}

Array sliced(const Call& call) {
  const Array& x = call.in(0);
  const int64_t first = list_of(call.in(1)).at(0), end = list_of(call.in(2)).at(0);
  const auto axis = size_t(list_of(call.in(3)).at(0));
  Sizes sizes = x.sizes;
  sizes.at(axis) = end - first;
  const Sizes strides = strides_of(x.sizes);
  std::vector<int64_t> places = places_by(sizes, strides);
  for (int64_t& place : places) place += first * strides[axis];
  return taken(x, sizes, places);
}

Array rows_of(const Call& call) {
  const Array &x = call.in(0), &indices = call.in(1);
  Array out{indices.sizes, {}};
  out.sizes.insert(out.sizes.end(), x.sizes.begin() + 1, x.sizes.end());
  const int64_t length = x.elements() / x.sizes.at(0);
  for (const int64_t row : list_of(indices))
    for (int64_t i = 0; i < length; ++i) out.numbers.push_back(x.numbers.at(size_t(row * length + i)));
  return out;
}

Array expanded(const Call& call) {
  const Array& x = call.in(0);
  Sizes sizes = list_of(call.in(1));
  for (size_t i = 0; i < x.sizes.size(); ++i) {
    int64_t& size = sizes.at(sizes.size() - x.sizes.size() + i);
    if (size == 1) size = x.sizes[i];
  }
  return taken(x, sizes, broadcast_places(x.sizes, sizes));
}

}  // namespace

std::optional<Array> evaluate_moves(const Call& call) {
  const std::string& op = call.node.op;
  if (op == "Reshape") return reshaped(call);
  if (op == "Transpose") return transposed(call);
  if (op == "Concat") return joined(call);
  if (op == "Slice") return sliced(call);
  if (op == "Gather") return rows_of(call);
  if (op == "Expand") return expanded(call);
  return {};
}

}  // namespace neon::onnx
