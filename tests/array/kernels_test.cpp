// How many kernels an expression takes.
#include "support.h"

using namespace neon;
using namespace neon::test;

TEST_CASE("an array of any type that is repeated is read where it is needed, by one kernel") {
  Backend be = make_backend();
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i32, DType::i8, DType::u8}) {
    INFO(std::string(name_of(dtype)));
    const Tensor x = numbers({7, 30}, DType::f32), row = numbers({30}, dtype, 1), column = numbers({7, 1}, dtype, 2);
    const Array a = be.array(x), b = be.array(row), c = be.array(column);
    const auto value = [&](const Index& i) { return at(x, i) * at(row, i) + at(column, i); };  // exact in f32
    const Array y = a * b + c;
    CHECK(be.last_kernels() == 1);
    check(y.get(), {7, 30}, value, 0);
    const Array sums = sum(a * b + c, 1);
    CHECK(be.last_kernels() == 1);
    check(
        sums.get(), {7, 1},
        [&](const Index& i) {
          double out = 0;
          for (int64_t k = 0; k < 30; ++k) out += value({i[0], k});
          return out;
        },
        0);
    // An array that is written at the same time is read as it was.
    const Array d = be.array(row), e = be.empty({7, 30}, DType::f32);
    be.assign({{d, d * 2.0}, {e, a * d}});
    check(
        e.get(), {7, 30}, [&](const Index& i) { return at(x, i) * at(row, i); }, 0);
    check(
        d.get(), {30}, [&](const Index& i) { return at(row, i) * 2; }, 0);
  }
}

TEST_CASE("a variance and a batch norm are one kernel each") {
  Backend be = make_backend();
  for (int axis : {0, 1}) {
    const Tensor x = numbers({40, 30}, DType::f16);
    const Array a = be.array(x);
    const Array v = var(a, axis);
    CHECK(be.last_kernels() == 1);
    Array y = be.empty({40, 30}, DType::f16);
    y.assign((a - mean(a, axis)) / sqrt(var(a, axis) + 0.001) * 2 + 1);
    CHECK(be.last_kernels() == 1);
    const Tensor deviation = v.get(), middle = Array(mean(a, axis)).get();
    check(
        y.get(), {40, 30},
        [&](const Index& i) { return (at(x, i) - at(middle, i)) / std::sqrt(at(deviation, i) + 0.001) * 2 + 1; },
        5.0 / 2048);
  }
}
