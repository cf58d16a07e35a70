#include "tests/array/random_expressions.h"

#include <tuple>

namespace neon::test {

std::vector<int64_t> places(const Shape& from, const Shape& to) {
  std::vector<int64_t> out;
  each_index(to, [&](const Index& index) {
    int64_t flat = 0;
    for (int axis = 0; axis < from.rank(); ++axis) {
      const int64_t i = index[index.size() - size_t(from.rank() - axis)];
      flat = flat * from[axis] + (from[axis] == 1 ? 0 : i);
    }
    out.push_back(flat);
  });
  return out;
}

Known moved(const Known& x, const Lazy& lazy, const std::vector<int64_t>& from) {
  Known out{lazy, lazy.shape(), {}, {}, {}};
  for (int64_t i : from) {
    out.value.push_back(x.value[size_t(i)]);
    out.error.push_back(x.error[size_t(i)]);
    out.slope.push_back(x.slope[size_t(i)]);
  }
  return out;
}

bool fits(const Shape& shape, const Shape& to) {
  try {
    return broadcast(shape, to) == to && shape.rank() <= to.rank();
  } catch (const Error&) {
    return false;
  }
}

int64_t flat(const Index& index, const Shape& shape) {
  int64_t out = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) out = out * shape[axis] + index[size_t(axis)];
  return out;
}

void round_to(DType dtype, double& value, double& error) {
  if (is_floating(dtype)) {
    error += unit(dtype) * (std::fabs(value) + error) * 1.01 + (dtype == DType::f16 ? 3.1e-8 : 0);
    return;
  }
  const double low = dtype == DType::u8   ? 0
                     : dtype == DType::i8 ? -128
                                          : -2e9,
               high = dtype == DType::u8   ? 255
                      : dtype == DType::i8 ? 127
                                           : 2e9;
  const double up = std::rint(std::fmin(std::fmax(value + error, low), high)),
               down = std::rint(std::fmin(std::fmax(value - error, low), high));
  value = std::rint(std::fmin(std::fmax(value, low), high));
  error = std::fmax(up - value, value - down);
}

RandomExpressions::RandomExpressions(uint64_t seed, bool derives, Backend& be)
    : draw_(seed, "random expressions"), derives_(derives), be_(be) {
  const int64_t sizes[] = {1, 1, 2, 3, 4, 5, 7, 8, 16, 17, 33, 64, 130};
  for (int64_t& size : sizes_) size = sizes[below(std::size(sizes))];
  if (chance(10)) sizes_[0] = 300;
  const int leaves = 2 + below(3), nodes = 3 + below(14);
  for (int i = 0; i < leaves; ++i) leaf();
  for (int i = 0; i < nodes; ++i) node();
}

const Known& RandomExpressions::any() {
  const size_t n = values_.size();
  return values_[chance(70) ? n - 1 - size_t(std::min(below(n), below(n))) : size_t(below(n))];
}

DType RandomExpressions::type() {
  const DType types[] = {DType::f32, DType::f32, DType::f32, DType::f16, DType::f16, DType::bf16,
                         DType::f64, DType::i32, DType::i8,  DType::u8,  DType::i64};
  return derives_ ? DType::f64 : types[below(std::size(types))];
}

Shape RandomExpressions::shape() {
  const int64_t a = sizes_[0], b = sizes_[1], c = std::min<int64_t>(sizes_[2], 8);
  const Shape shapes[] = {{a, b}, {a, b}, {a, b}, {a, 1}, {1, b}, {b}, {b, a}, {a, b, c}, {c, a, b}, {1, b, c}, {}};
  return shapes[below(std::size(shapes))];
}

void RandomExpressions::keep(Known known) {
  if (known.shape.elements() > 50000) return;
  for (double v : known.value)
    if (!(std::fabs(v) < 1000)) return;
  REQUIRE(known.lazy.shape() == known.shape);
  values_.push_back(std::move(known));
}

void RandomExpressions::leaf() {
  const DType dtype = type();
  const Tensor data = [&] {
    Tensor out(dtype, shape());
    for (int64_t i = 0; i < out.elements(); ++i)
      out.set(i, is_floating(dtype) ? draw_.uniform() * 4 - 2 : double(below(9)) - (dtype == DType::u8 ? 0 : 4));
    return out;
  }();
  Owned made{be_.array(data), data.clone(), {}};
  Known known{made.array, data.shape(), {}, std::vector<double>(size_t(data.elements()), 0), {}};
  for (int64_t i = 0; i < data.elements(); ++i) {
    known.value.push_back(data.at(i));
    known.slope.push_back(derives_ ? draw_.uniform() * 2 - 1 : 0);
  }
  made.direction = known.slope;
  owned.push_back(made);
  values_.push_back(known);
  if (!chance(40)) return;
  const auto [view, from] = part(made.array);
  keep(moved(known, view, from));
}

void RandomExpressions::node() {
  switch (below(14)) {
    case 0:
    case 1:
    case 2: return unary();
    case 3:
    case 4:
    case 5: return binary();
    case 6: return select();
    case 7:
    case 8: return reduce();
    case 9: {
      const Known x = any();
      const auto [lazy, from] = view_of(x.lazy);
      return keep(moved(x, lazy, from));
    }
    case 10: return product();
    case 11: return rows();
    case 12: return join();
    default: return chance(50) ? cast_to() : source();
  }
}

}  // namespace neon::test
