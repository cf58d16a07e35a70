#include "support.h"

#include <cstdlib>

#include "neon/core/random.h"

namespace neon::test {

Backend make_backend(DType dtype, uint64_t seed) {
  const char* device = std::getenv("NEON_TEST_DEVICE");
  return Backend({.device = device ? device : "cpu", .seed = seed, .dtype = dtype, .threads = 2});
}

Tensor numbers(const Shape& shape, DType dtype, int salt) {
  Tensor out(dtype, shape);
  Stream stream(uint64_t(salt), "numbers");
  const bool is_unsigned = dtype == DType::u8;
  for (int64_t i = 0; i < out.elements(); ++i)
    out.set(i, double(int(stream.below(65)) - (is_unsigned ? 0 : 32)) / (is_floating(dtype) ? 16 : 1));
  return out;
}

void each_index(const Shape& shape, const std::function<void(const Index&)>& visit) {
  Index index(size_t(shape.rank()), 0);
  for (int64_t i = 0; i < shape.elements(); ++i) {
    visit(index);
    for (int axis = shape.rank() - 1; axis >= 0 && ++index[size_t(axis)] == shape[axis]; --axis)
      index[size_t(axis)] = 0;
  }
}

double at(const Tensor& x, const Index& index) {
  int64_t flat = 0;
  for (int axis = 0; axis < x.shape().rank(); ++axis) {
    const int64_t i = index[index.size() - size_t(x.shape().rank() - axis)];
    flat = flat * x.shape()[axis] + (x.shape()[axis] == 1 ? 0 : i);
  }
  return x.at(flat);
}

void check(const Tensor& got, const Shape& shape, const std::function<double(const Index&)>& expected, double allowed) {
  REQUIRE(got.shape() == shape);
  int64_t i = 0;
  each_index(shape, [&](const Index& index) {
    const double a = got.at(i), b = expected(index);
    INFO("element " << i << ": " << a << " instead of " << b);
    if (!(a == b || std::fabs(a - b) <= allowed || (std::isnan(a) && std::isnan(b)))) FAIL_CHECK();
    ++i;
  });
}

}  // namespace neon::test
