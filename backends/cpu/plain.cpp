#include "backends/cpu/plain.h"

#include <cmath>
#include <limits>
#include <map>

#include "backends/elementwise/kernels.h"
#include "backends/graph/draw_places.h"
#include "backends/graph/histogram.h"
#include "backends/graph/op.h"
#include "backends/graph/ops.h"
#include "neon/core/random.h"

namespace neon::cpu {

namespace {

std::map<std::string, PlainFunction, std::less<>>& functions() {
  static std::map<std::string, PlainFunction, std::less<>> functions;
  return functions;
}

// The places of the elements of `shape`, in row-major order, in an array of shape `from`, which is aligned at the last
// axis and repeated along sizes of 1.
std::vector<int64_t> places_in(const Shape& from, const Shape& shape) {
  std::vector<int64_t> strides(size_t(shape.rank()), 0), places = {0};
  const int more = shape.rank() - from.rank();
  int64_t stride = 1;
  for (int axis = from.rank() - 1; axis >= 0; stride *= from[axis--])
    if (from[axis] != 1) strides[size_t(axis + more)] = stride;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    std::vector<int64_t> finer;
    finer.reserve(places.size() * size_t(shape[axis]));
    for (int64_t place : places)
      for (int64_t i = 0; i < shape[axis]; ++i) finer.push_back(place + i * strides[size_t(axis)]);
    places = std::move(finer);
  }
  return places;
}

void row(PlainArguments& a) {
  const Op& op = *a.node.op;
  const auto function = op.derivative_operand < 0
                            ? elementwise::block_function<double>(*op.row)
                            : elementwise::derivative_function<double>(*op.row, op.derivative_operand);
  NEON_ASSERT(function);
  const Shape& shape = a.outputs[0].shape();
  std::vector<Tensor> inputs;
  std::vector<const double*> from;
  std::vector<std::vector<int64_t>> places;
  for (const Tensor& input : a.inputs) {
    inputs.push_back(in_f64(input));
    from.push_back(inputs.back().as<double>().data());
    places.push_back(places_in(input.shape(), shape));
  }
  std::vector<double> y(size_t(shape.elements()));
  const double none = 0;
  const double* pointers[5] = {&none, &none, &none, &none, &none};
  for (size_t i = 0; i < y.size(); ++i) {
    for (size_t k = 0; k < from.size(); ++k) pointers[k] = from[k] + places[k][i];
    function(pointers, &y[i], 1);
  }
  store(y, a.outputs[0]);
}

void copy(PlainArguments& a) {
  const Tensor x = in_f64(a.inputs[0]);
  const auto from = x.as<double>();
  std::vector<double> y;
  for (int64_t place : places_in(x.shape(), a.outputs[0].shape())) y.push_back(from[size_t(place)]);
  store(y, a.outputs[0]);
}

void reduce(PlainArguments& a) {
  const Reduction kind = a.node.op->traits.reduction;
  const Tensor x = in_f64(a.inputs[0]);
  const auto from = x.as<double>();
  const size_t outputs = size_t(a.outputs[0].elements());
  const double start = kind == Reduction::sum   ? 0
                       : kind == Reduction::min ? std::numeric_limits<double>::infinity()
                                                : -std::numeric_limits<double>::infinity();
  std::vector<double> best(outputs, start), where(outputs, 0), seen(outputs, 0);
  const std::vector<int64_t> places = places_in(a.outputs[0].shape(), x.shape());
  for (size_t i = 0; i < from.size(); ++i) {
    const size_t to = size_t(places[i]);
    const double value = from[i], count = seen[to]++;
    if (kind == Reduction::sum) {
      best[to] += value;
    } else if (std::isnan(best[to])) {
      continue;
    } else if (std::isnan(value) || (kind == Reduction::min ? value < best[to] : value > best[to])) {
      best[to] = value;
      where[to] = count;
    }
  }
  store(kind == Reduction::argmax ? where : best, a.outputs[0]);
}

void matmul(PlainArguments& a) {
  const bool ta = a.node.attributes.integer("transpose_a"), tb = a.node.attributes.integer("transpose_b");
  const Tensor x = in_f64(a.inputs[0]), w = in_f64(a.inputs[1]);
  const double *left = x.as<double>().data(), *right = w.as<double>().data();
  Tensor& y = a.outputs[0];
  const int64_t rows = y.shape()[0], columns = y.shape()[1], inner = x.shape()[ta ? 0 : 1];
  for (int64_t m = 0; m < rows; ++m)
    for (int64_t n = 0; n < columns; ++n) {
      double total = 0;
      for (int64_t k = 0; k < inner; ++k)
        total += left[ta ? k * rows + m : m * inner + k] * right[tb ? n * inner + k : k * columns + n];
      y.set(m * columns + n, total);
    }
}

int64_t product(const Shape& shape, int first, int last) { return shape.slice(first, last).elements(); }

void iota(PlainArguments& a) {
  const int axis = int(a.node.attributes.integer("axis"));
  Tensor& y = a.outputs[0];
  const int64_t inner = product(y.shape(), axis + 1, y.shape().rank()), size = y.shape()[axis];
  for (int64_t i = 0; i < y.elements(); ++i) y.set(i, double(i / inner % size));
}

// Number `place` of a fresh stream.
double drawn_at(const Stream& stream, uint64_t place) {
  Stream at = stream.after(int64_t(place / 4 * 2));
  for (uint64_t k = place % 4; k > 0; --k) at.bits();
  return uniform_from_bits(at.bits());
}

void uniform(PlainArguments& a) {
  const Stream stream(uint64_t(a.node.attributes.integer("seed")), a.node.attributes.string("stream"), a.step);
  const DrawPlaces places = draw_places(a.node.attributes);
  for (int64_t i = 0; i < a.outputs[0].elements(); ++i) a.outputs[0].set(i, drawn_at(stream, places.of(i)));
}

void keyed_uniform(PlainArguments& a) {
  const auto seed = uint64_t(a.node.attributes.integer("seed"));
  const std::string& name = a.node.attributes.string("stream");
  const auto keys = a.inputs[0].as<int32_t>();
  Tensor& y = a.outputs[0];
  const int64_t columns = y.shape()[1];
  for (int64_t n = 0; n < y.shape()[0]; ++n) {
    const uint64_t first = uint64_t(keys[size_t(2 * n)]) * uint64_t(columns);
    const Stream stream(seed, name, uint64_t(keys[size_t(2 * n + 1)]));
    for (int64_t c = 0; c < columns; ++c) y.set(n * columns + c, drawn_at(stream, first + uint64_t(c)));
  }
}

void transpose(PlainArguments& a) {
  const auto& permutation = a.node.attributes.integers("permutation");
  const Tensor x = in_f64(a.inputs[0]);
  const auto from = x.as<double>();
  const Shape& shape = a.outputs[0].shape();
  std::vector<int64_t> strides;  // in x, of the axes of y
  for (int64_t axis : permutation) strides.push_back(product(x.shape(), int(axis) + 1, x.shape().rank()));
  std::vector<double> y(from.size());
  for (size_t i = 0; i < y.size(); ++i) {
    int64_t left = int64_t(i), place = 0;
    for (int axis = shape.rank() - 1; axis >= 0; left /= shape[axis--])
      place += left % shape[axis] * strides[size_t(axis)];
    y[i] = from[size_t(place)];
  }
  store(y, a.outputs[0]);
}

void concat(PlainArguments& a) {
  const int axis = int(a.node.attributes.integer("axis"));
  Tensor& y = a.outputs[0];
  const int64_t inner = product(y.shape(), axis + 1, y.shape().rank()), outer = product(y.shape(), 0, axis);
  int64_t first = 0;
  for (const Tensor& x : a.inputs) {
    const int64_t count = x.shape()[axis] * inner;
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t i = 0; i < count; ++i) y.set(o * y.shape()[axis] * inner + first + i, x.at(o * count + i));
    first += count;
  }
}

void slice(PlainArguments& a) {
  const int axis = int(a.node.attributes.integer("axis"));
  const Tensor& x = a.inputs[0];
  Tensor& y = a.outputs[0];
  const int64_t inner = product(y.shape(), axis + 1, y.shape().rank()), outer = product(y.shape(), 0, axis);
  const int64_t first = a.node.attributes.integer("first") * inner, count = y.shape()[axis] * inner;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < count; ++i) y.set(o * count + i, x.at(o * x.shape()[axis] * inner + first + i));
}

int64_t checked_row(const Tensor& indices, int64_t i, int64_t rows) {
  const int64_t row = indices.as<int32_t>()[size_t(i)];
  if (row < 0 || row >= rows) fail(ErrorKind::data, "index ", row, " at place ", i, " is not in [0, ", rows, ")");
  return row;
}

void gather(PlainArguments& a) {
  Tensor& y = a.outputs[0];
  const int64_t row = y.shape()[0] ? y.elements() / y.shape()[0] : 0;
  for (int64_t i = 0; i < y.shape()[0]; ++i) {
    const int64_t from = checked_row(a.inputs[1], i, a.inputs[0].shape()[0]) * row;
    for (int64_t k = 0; k < row; ++k) y.set(i * row + k, a.inputs[0].at(from + k));
  }
}

void scatter_add(PlainArguments& a) {
  Tensor& y = a.outputs[0];
  const int64_t row = y.shape()[0] ? y.elements() / y.shape()[0] : 0;
  std::vector<double> sums(size_t(y.elements()), 0);
  for (int64_t i = 0; i < a.inputs[0].shape()[0]; ++i) {
    const int64_t to = checked_row(a.inputs[1], i, y.shape()[0]) * row;
    for (int64_t k = 0; k < row; ++k) sums[size_t(to + k)] += a.inputs[0].at(i * row + k);
  }
  for (size_t i = 0; i < sums.size(); ++i) y.set(int64_t(i), sums[i]);
}

void count_sizes(PlainArguments& a) {
  const int64_t bins = a.node.attributes.integer("bins"), offset = a.node.attributes.integer("offset");
  std::vector<int64_t> counts(size_t(bins), 0);
  if (a.inputs.size() < 2 || a.inputs[1].at(0) != 0)
    for (int64_t i = 0; i < a.inputs[0].elements(); ++i) {
      const int64_t bin = histogram_bin(size_exponent(float(a.inputs[0].at(i))), bins, offset);
      if (bin < bins) ++counts[size_t(bin)];  // neither what is beyond them nor NaN
    }
  for (int64_t bin = 0; bin < bins; ++bin) a.outputs[0].set(bin, double(counts[size_t(bin)]));
}

const PlainRegistration plain_functions[] = {
    {ops::cast, copy},
    {ops::broadcast, copy},
    {ops::reshape, [](PlainArguments& a) { a.outputs[0].copy_from(a.inputs[0].reshaped(a.outputs[0].shape())); }},
    {ops::sum, reduce},
    {ops::max, reduce},
    {ops::min, reduce},
    {ops::argmax, reduce},
    {ops::matmul, matmul},
    {ops::iota, iota},
    {ops::uniform, uniform},
    {ops::keyed_uniform, keyed_uniform},
    {ops::transpose, transpose},
    {ops::concat, concat},
    {ops::slice, slice},
    {ops::gather, gather},
    {ops::histogram, count_sizes},
    {ops::scatter_add, scatter_add},
};

}  // namespace

void add_plain(std::string_view op, PlainFunction function) { functions()[std::string(op)] = function; }

PlainFunction find_plain(const Op& op) {
  if (op.is_elementwise()) return row;
  const auto found = functions().find(op.name);
  return found == functions().end() ? nullptr : found->second;
}

}  // namespace neon::cpu
