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

// One axis, forwards, or all of it backwards.
Array sliced(const Call& call) {
  const Array& x = call.in(0);
  const auto axis = size_t(list_of(call.in(3)).at(0));
  const bool backwards = call.inputs.size() > 4 && list_of(call.in(4)).at(0) == -1;
  const int64_t first = backwards ? 0 : list_of(call.in(1)).at(0);
  Sizes sizes = x.sizes, strides = strides_of(x.sizes);
  if (!backwards) sizes.at(axis) = list_of(call.in(2)).at(0) - first;
  const int64_t start = backwards ? sizes.at(axis) - 1 : first, stride = strides[axis];
  if (backwards) strides[axis] = -stride;
  std::vector<int64_t> places = places_by(sizes, strides);
  for (int64_t& place : places) place += start * stride;
  return taken(x, sizes, places);
}

// The place of each element of a padded axis, and -1 where it is 0.
int64_t source_of(int64_t at, int64_t length, const std::string& mode) {
  if (at >= 0 && at < length) return at;
  if (mode == "constant") return -1;
  if (mode == "edge") return at < 0 ? 0 : length - 1;
  return at < 0 ? -at : 2 * (length - 1) - at;
}

Array padded(const Call& call) {
  const std::string& mode = call.node.attributes.string("mode");
  const Sizes pads = list_of(call.in(1));
  Array x = call.in(0);
  for (size_t axis = 0; axis < x.sizes.size(); ++axis) {
    const int64_t length = x.sizes[axis], stride = strides_of(x.sizes)[axis], before = pads.at(axis);
    Array out{x.sizes, {}};
    out.sizes[axis] += before + pads.at(x.sizes.size() + axis);
    out.numbers.resize(size_t(product_of(out.sizes)));
    for (int64_t i = 0; i < out.elements(); ++i) {
      const int64_t outer = i / stride / out.sizes[axis], at = i / stride % out.sizes[axis];
      const int64_t from = source_of(at - before, length, mode);
      out.numbers[size_t(i)] = from < 0 ? 0 : x.numbers.at(size_t((outer * length + from) * stride + i % stride));
    }
    x = std::move(out);
  }
  return x;
}

Array shape_of(const Call& call) {
  Array out{{int64_t(call.in(0).sizes.size())}, {}};
  for (const int64_t size : call.in(0).sizes) out.numbers.push_back(double(size));
  return out;
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
  if (op == "Pad") return padded(call);
  if (op == "Shape") return shape_of(call);
  if (op == "Expand") return expanded(call);
  return {};
}

}  // namespace neon::onnx
