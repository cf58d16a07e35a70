// Casts in the middle of expressions: what is cast is rounded, whatever follows, in the same kernel.
#include <limits>

#include "support.h"

using namespace neon;
using namespace neon::test;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What is left of x in a type: by way of memory, as the tests of tensors hold it to be.
double stored(double x, DType dtype) {
  Tensor one(dtype, {1});
  one.set(0, x);
  return one.at(0);
}

}  // namespace

TEST_CASE("a cast within an expression rounds, in the kernel of the expression") {
  const std::vector<double> given = {2049, 2051, 70000, -65520, 1e-9, 0.1, -1.0 / 3, 3e38, 0, -7};
  for (DType from : {DType::f32, DType::f64})
    for (DType to : {DType::f16, DType::bf16, DType::f32}) {
      INFO(std::string(name_of(from)) << " to " << std::string(name_of(to)));
      Backend be = make_backend(from);
      const Array x = be.array(given, {10}, from);
      const Tensor values = x.get();
      const auto cast = [&](const Index& i) { return stored(values.at(i[0]), to); };
      const auto is = [&](const Lazy& got, const std::function<double(const Index&)>& expected, int kernels = 1) {
        Array y = be.empty({10}, from);
        y.assign(got);
        CHECK(be.last_kernels() == kernels);
        check(y.get(), {10}, expected);
      };
      is(x.cast(to), cast);
      // The sum of f32 between arrays of f64 has a kernel of f32.
      is(x.cast(to) + 0.0, cast, from == DType::f64 ? 3 : 1);
      is(finite(x.cast(to)), [&](const Index& i) { return std::isfinite(cast(i)) ? 1 : 0; });
      is(where(finite(x.cast(to)), x - x.cast(to), 0.0),
         [&](const Index& i) { return std::isfinite(cast(i)) ? values.at(i[0]) - cast(i) : 0; });
      is(x.cast(to).cast(DType::f64).cast(from), cast);
      check(Array(x.cast(to).reshape({2, 5}).reshape({10}) + 0.0).get(), {10}, cast);
      check(Array(x.cast(to)).get(), {10}, cast);
    }
  Backend be = make_backend();
  // In a kernel of f64 numbers of f32 are rounded, too, and so are integers.
  const Array a = be.array({0.1}, {1}), b = be.array({0.3}, {1}), zero = be.zeros({1}, DType::f64);
  const double product = stored(stored(0.1, DType::f32) * stored(0.3, DType::f32), DType::f32);
  CHECK(Array((a * b).cast(DType::f32) + zero).item() == product);
  CHECK(Array((a * b).cast(DType::f32).cast(DType::f64)).item() == product);
  CHECK(Array(be.array({2147483647}, {1}, DType::i32).cast(DType::f32) + zero).item() == 2147483648.0);
  CHECK(Array(be.ones({1}) * Lazy(0.1).cast(DType::f16)).item() == stored(stored(0.1, DType::f16), DType::f32));
  CHECK(Array(be.array({16777217}, {1}, DType::i32).cast(DType::f16) - 0.0).item() == kInfinity);
}

TEST_CASE("a product of 16-bit operands is rounded where it is cast") {
  for (DType dtype : {DType::f16, DType::bf16}) {
    Backend be = make_backend(dtype);
    const double many = dtype == DType::f16 ? 2049 : 257;  // lies between two numbers of the type
    const Array ones = be.ones({1, 2}, dtype), column = be.array({many - 1, 1}, {2, 1}, dtype);
    const Lazy c = dot(ones, column).cast(dtype);
    Array wide = be.zeros({1, 1}, DType::f32);
    CHECK(wide.assign(dot(ones, column)).item() == many);
    CHECK(wide.assign(c).item() == many - 1);
    CHECK(wide.assign(c - dot(ones, column)).item() == -1);
    CHECK(wide.assign(relu(dot(ones, column)).cast(dtype) + 0.0).item() == many - 1);
    CHECK(wide.assign(c.reshape({1, 1}).T() + 0.0).item() == many - 1);
    CHECK(Array(dot(ones, column) * be.ones({1, 1}, DType::f64)).item() == many);
    CHECK(Array(c * be.ones({1, 1}, DType::f64)).item() == many - 1);
    Array narrow = be.zeros({1, 1}, dtype);
    CHECK(narrow.assign(c).item() == many - 1);
    CHECK(be.last_kernels() == 1);
  }
}

TEST_CASE("rounding by chance ends at the largest number of its type") {
  Backend be = make_backend();
  const Array x = be.array({70000, 65504, -1e6, 1}, {4});
  const std::vector<double> rounded = {kInfinity, 65504, -kInfinity, 1};
  check(Array(round_by_chance(x, 10, DType::f16) + 0.0).get(), {4},
        [&](const Index& i) { return rounded[size_t(i[0])]; });
}

TEST_CASE("a cast to the type that a draw has is of the same draw") {
  for (DType dtype : {DType::f32, DType::f16, DType::f64}) {
    INFO(std::string(name_of(dtype)));
    Backend be = make_backend(dtype);
    const Lazy u = be.uniform({50});
    // A draw is in the type of the arithmetic until it is stored, or cast.
    CHECK(Array(max(abs(u.cast(dtype) - u))).item() <= (dtype == DType::f16 ? unit_roundoff(dtype) : 0));
    const Lazy whole = round_by_chance(be.full({50}, 2.5), 3, DType::i32);
    CHECK(Array(max(abs(whole.cast(DType::i32) - whole))).item() == 0);
  }
  Backend be = make_backend();
  const Lazy r = round_by_chance(be.full({50}, 1.1), 1);
  CHECK(Array(max(abs(r.cast(DType::f32) - r))).item() == 0);
}

TEST_CASE("gradients go straight through a cast") {
  Backend be = make_backend();
  const Array x = be.array({0.1, -2049, 3}, {3});
  const Array g = Autodiff(sum(square(x.cast(DType::f16)))).gradient(x);
  check(g.get(), {3}, [&](const Index& i) { return 2 * stored(x.get().at(i[0]), DType::f16); });
}
