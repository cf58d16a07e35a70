// Products of matrices, with all that is done to them on the way, and Kahan's sum.
#include "support.h"

using namespace neon;
using namespace neon::test;

namespace {

double unit(DType dtype) { return unit_roundoff(dtype); }

}  // namespace

TEST_CASE("dot takes operands as they lie, in every type") {
  for (DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
    Backend be = make_backend(dtype);
    const Tensor x = numbers({7, 20}, dtype), y = numbers({20, 9}, dtype, 1);
    const Array a = be.array(x), b = be.array(y);
    auto expected = [&](const Index& i) {
      double sum = 0;
      for (int64_t k = 0; k < 20; ++k) sum += at(x, {i[0], k}) * at(y, {k, i[1]});
      return sum;
    };
    // Numbers of few bits: sums of 20 products below 4 are exact in f32, and rounded once in 16 bits.
    const double allowed = size_of(dtype) == 2 ? 64 * unit(dtype) : 0;
    const Array turned_a = Array(Lazy(a.T())), turned_b = Array(Lazy(b.T()));
    INFO(std::string(name_of(dtype)));
    for (const Lazy& product :
         {dot(a, b), dot(turned_a.T(), b), dot(a, turned_b.T()), dot(turned_a.T(), turned_b.T())}) {
      const Array got = product;
      CHECK(got.dtype() == dtype);
      CHECK(be.last_kernels() == 1);
      check(got.get(), {7, 9}, expected, allowed);
    }
  }
  Backend be = make_backend();
  Array rectified = be.empty({2, 2}, DType::f16);
  rectified.assign(relu(dot(be.ones({2, 3}, DType::f16), be.array({1, -1, 1, -1, 1, -1}, {3, 2}, DType::f16))));
  CHECK(be.last_kernels() == 1);
  check(rectified.get(), {2, 2}, [](const Index& i) { return i[1] ? 0 : 3; });
  const Array mixed = dot(be.ones({2, 3}, DType::f16), be.full({3, 2}, 2, DType::u8));
  CHECK((mixed.dtype() == DType::f32 && mixed.get().at(3) == 6));
}

TEST_CASE("compound_dot scales, rectifies and adds in neon's order") {
  for (DType dtype : {DType::f32, DType::f16}) {
    Backend be = make_backend(dtype);
    const Tensor x = numbers({5, 8}, dtype), y = numbers({8, 6}, dtype, 1), z = numbers({5, 6}, dtype, 2);
    for (double alpha : {1.0, -0.5})
      for (double beta : {0.0, 1.0, 0.25})
        for (bool rectified : {false, true}) {
          INFO(std::string(name_of(dtype)) << " alpha " << alpha << " beta " << beta << " relu " << rectified);
          Array c = be.array(z);
          compound_dot(be.array(x), be.array(y), c, {alpha, beta, rectified});
          check(
              c.get(), {5, 6},
              [&](const Index& i) {
                double sum = 0;
                for (int64_t k = 0; k < 8; ++k) sum += at(x, {i[0], k}) * at(y, {k, i[1]});
                return (rectified ? std::max(alpha * sum, 0.0) : alpha * sum) + beta * at(z, i);
              },
              dtype == DType::f16 ? 2 * 32 * unit(dtype) : 0);
        }
  }
}

// Each of these is finite and exact as a sum in f32, and neither in 16 bits.
TEST_CASE("products of 16-bit operands are rounded once, when they are stored") {
  const DType dtype = GENERATE(DType::f16, DType::bf16);
  INFO(std::string(name_of(dtype)));
  Backend be = make_backend(dtype);
  const Array ones = be.ones({1, 2049}), column = be.ones({2049, 1});
  Array c = be.full({1, 1}, -2048);
  CHECK(compound_dot(ones, column, c, {.beta = 1}).item() == 1);
  CHECK(compound_dot(ones, column, c.assign(-2048), {.beta = 1, .relu = true}).item() == 1);
  Array wide = be.zeros({1, 1}, DType::f32);
  CHECK(wide.assign(dot(ones, column)).item() == 2049);
  CHECK(Array(dot(ones, column) - 2048).item() == 1);
  CHECK(Array(relu(dot(ones, column)) - 2048).item() == 1);
  CHECK(Array(dot(ones, column).reshape({1}) - 2048).item() == 1);
  CHECK(Array(dot(ones, column).T().slice(0, 0, 1) - 2048).item() == 1);
  CHECK(Array(dot(ones, column)).dtype() == dtype);

  const Array large = be.full({1, 1000}, 100), of_large = be.full({1000, 1}, 100);
  const double thousandth = 1.0 / 1024;
  CHECK(compound_dot(large, of_large, c, {.alpha = thousandth}).item() == Approx(1e7 / 1024).epsilon(1e-2));
  CHECK(Array(dot(large, of_large) / 1024).item() == 1e7 / 1024);
  Array stack = be.zeros({2, 1, 1});
  batched_dot(be.full({2, 1, 1000}, 100), be.full({2, 1000, 1}, 100), stack, {.alpha = thousandth});
  CHECK(stack.get().at(1) == Approx(1e7 / 1024).epsilon(1e-2));
  Array added = be.full({2, 1, 1}, -2048);
  batched_dot(be.ones({2, 1, 2049}), be.ones({2, 2049, 1}), added, {.beta = 1});
  CHECK(added.get().at(0) == 1);

  const Array once = dot(ones, column) * dot(ones, column);  // one product, read twice
  CHECK(once.item() == 2049.0 * 2049);
  CHECK(be.last_kernels() == 2);
}

TEST_CASE("products of 16-bit operands are rounded by chance from their sums") {
  constexpr int64_t n = 20000;
  const DType dtype = GENERATE(DType::f16, DType::bf16);
  const int bits = dtype == DType::f16 ? 10 : 7;
  const double step = std::ldexp(1, -bits);
  INFO(std::string(name_of(dtype)));
  Backend be = make_backend(dtype);
  // 1 and a quarter of the way to the next number.
  const Array left = be.array({1, 0.25}, {1, 2}).broadcast({n, 2}), right = be.array({1, step}, {2, 1});
  const auto check_quarter = [&](const Array& array) {
    const Tensor y = array.get();
    int64_t up = 0;
    for (int64_t i = 0; i < y.elements(); ++i) {
      REQUIRE((y.at(i) == 1 || y.at(i) == 1 + step));
      up += y.at(i) != 1;
    }
    CHECK(std::fabs(double(up) - 0.25 * double(y.elements())) < 5 * std::sqrt(double(y.elements()) * 0.1875));
  };
  Array c = be.zeros({n, 1}), stack = be.zeros({2, n / 2, 1});
  c.round_by_chance(bits);
  check_quarter(compound_dot(left, right, c));
  check_quarter(c.assign(dot(left, right)));
  check_quarter(round_by_chance(dot(left, right), bits, dtype));
  batched_dot(left.reshape({2, n / 2, 2}), be.array({1, step, 1, step}, {2, 2, 1}), stack.round_by_chance(bits));
  check_quarter(stack);
}

TEST_CASE("gradients go through products of 16-bit operands that are not rounded") {
  Backend be = make_backend(DType::f16);
  const Array a = be.array({1, 2, 3, 4, 5, 6}, {2, 3}), b = be.array({1, -1, 2, 0.5, -3, 4}, {3, 2});
  const Autodiff derived(sum(dot(a, b) * 4));
  const Tensor of_a = Array(derived.gradient(a)).get(), of_b = Array(derived.gradient(b)).get();
  CHECK(of_a.dtype() == DType::f16);
  for (int64_t i = 0; i < 2; ++i)
    for (int64_t k = 0; k < 3; ++k) CHECK(of_a.at(3 * i + k) == 4 * (b.get().at(2 * k) + b.get().at(2 * k + 1)));
  for (int64_t k = 0; k < 3; ++k)
    for (int64_t j = 0; j < 2; ++j) CHECK(of_b.at(2 * k + j) == 4 * (a.get().at(k) + a.get().at(3 + k)));
}

TEST_CASE("batched_dot multiplies each pair, or adds them all up") {
  Backend be = make_backend();
  const Tensor x = numbers({3, 4, 6}, DType::f32), y = numbers({3, 6, 5}, DType::f32, 1),
               z = numbers({3, 4, 5}, DType::f32, 2);
  auto product = [&](int64_t b, int64_t i, int64_t j, bool one_a, bool one_b) {
    double sum = 0;
    for (int64_t k = 0; k < 6; ++k) sum += at(x, {one_a ? 0 : b, i, k}) * at(y, {one_b ? 0 : b, k, j});
    return sum;
  };
  const Array a = be.array(x), b = be.array(y);
  const Array first_a = a.slice(0, 0, 1).reshape({4, 6}), first_b = b.slice(0, 0, 1).reshape({6, 5});
  for (int which : {0, 1, 2, 3}) {
    const bool one_a = which == 1, one_b = which == 2;
    INFO("case " << which);
    const Lazy left = one_a ? first_a : which == 3 ? Array(Lazy(a.transpose({0, 2, 1}))).transpose({0, 2, 1}) : a;
    const Lazy right = one_b ? first_b : b;
    Array c = be.array(z);
    batched_dot(left, right, c, {.alpha = 0.5, .beta = 2});
    check(c.get(), {3, 4, 5},
          [&](const Index& i) { return 0.5 * product(i[0], i[1], i[2], one_a, one_b) + 2 * at(z, i); });
    Array total = be.zeros({4, 5});
    batched_dot(left, right, total, {.relu = true});
    check(total.get(), {4, 5}, [&](const Index& i) {
      double sum = 0;
      for (int64_t k = 0; k < 3; ++k) sum += product(k, i[0], i[1], one_a, one_b);
      return std::max(sum, 0.0);
    });
  }
  Array wide = be.zeros({3, 4, 5}, DType::f64);
  batched_dot(be.array(numbers({3, 4, 6}, DType::f64)), first_b.cast(DType::f64), wide);
  check(wide.get(), {3, 4, 5}, [&](const Index& i) { return product(i[0], i[1], i[2], false, true); });
  Array c = be.zeros({2, 4, 5});
  CHECK_THROWS_WITH(batched_dot(a, b, c), Catch::Contains("got (3, 4, 6), (3, 6, 5) and (2, 4, 5)"));
  CHECK_THROWS_WITH(batched_dot(first_a, first_b, c), Catch::Contains("batched_dot takes stacks"));
}

TEST_CASE("batched_dot is a program or two, whatever its operands are and however many") {
  Backend be = make_backend();
  const auto pairs = [&](const Lazy& a, const Lazy& b, int64_t count, int64_t size) {
    Array c = be.zeros({count, size, size});
    const int64_t before = be.programs_compiled();
    batched_dot(a, b, c);
    return be.programs_compiled() - before;
  };
  // Matrices that do not begin where kernels can, and those that have yet to be computed.
  const Array odd = be.array(numbers({40, 5, 5}, DType::f32)), even = be.array(numbers({40, 4, 4}, DType::f32));
  CHECK(pairs(odd, odd, 40, 5) == 1);
  CHECK(pairs(odd.transpose({0, 2, 1}), odd * 2, 40, 5) == 1);
  CHECK(pairs(even.slice(0, 0, 1).reshape({4, 4}), even + 1, 40, 4) == 1);
  const Array large = be.array(numbers({3, 144, 144}, DType::f32));
  CHECK(pairs(large * 2, (large + 1).transpose({0, 2, 1}), 3, 144) == 3);
  const Tensor x = numbers({3, 144, 144}, DType::f32);
  Array c = be.zeros({3, 144, 144});
  batched_dot(large * 2, (large + 1).transpose({0, 2, 1}), c, {.relu = true});
  check(
      c.get(), {3, 144, 144},
      [&](const Index& i) {
        double sum = 0;
        for (int64_t k = 0; k < 144; ++k) sum += 2 * at(x, {i[0], i[1], k}) * (at(x, {i[0], i[2], k}) + 1);
        return std::max(sum, 0.0);
      },
      144 * 12 * 6e-8);
}

TEST_CASE("batched_dot reads what was there before, also where matrices are multiplied one by one") {
  Backend be = make_backend();
  for (int64_t size : {8, 144}) {
    INFO("matrices of " << size);
    const Tensor x = numbers({4, size, size}, DType::f32), y = numbers({3, size, size}, DType::f32, 1);
    const auto product = [&](const Tensor& left, int64_t of, const Tensor& right, const Index& i) {
      double sum = 0;
      for (int64_t k = 0; k < size; ++k) sum += at(left, {of, i[1], k}) * at(right, {i[0], k, i[2]});
      return sum;
    };
    const double allowed = double(size) * 4 * 6e-8;
    const Array b = be.array(y);
    Array rows = be.array(x), next = rows.slice(0, 1, 3);
    batched_dot(rows.slice(0, 0, 3), b, next);
    check(
        next.get(), y.shape(), [&](const Index& i) { return product(x, i[0], y, i); }, allowed);
    rows = be.array(x);
    Array same = rows.slice(0, 0, 3);
    batched_dot(rows.slice(0, 0, 1).reshape({size, size}), b, same);
    check(
        same.get(), y.shape(), [&](const Index& i) { return product(x, 0, y, i); }, allowed);
    rows = be.array(x);
    Array turned = rows.slice(0, 1, 3).transpose({0, 2, 1});
    batched_dot(b, rows.slice(0, 0, 3), turned);
    check(
        turned.get(), y.shape(), [&](const Index& i) { return product(y, i[0], x, i); }, allowed);
  }
}

TEST_CASE("a compensated sum of many small numbers keeps what f16 cannot hold") {
  for (DType dtype : {DType::f16, DType::bf16, DType::f32}) {
    Backend be = make_backend(dtype);
    const double small = unit(dtype) / 2;  // lost when added to 1 by itself
    Array total = be.ones({3}), carry = be.zeros({3}), plain = be.ones({3});
    const Array added = be.full({3}, small);
    for (int i = 0; i < 1000; ++i) {
      compensated_sum(total, carry, added, 1, 2);
      plain += added;
    }
    INFO(std::string(name_of(dtype)));
    CHECK(plain.get().at(0) == 1);
    CHECK(total.get().at(1) - carry.get().at(1) == Approx(1 + 2000 * small).epsilon(2 * unit(dtype)));
    CHECK(total.get().at(1) == Approx(1 + 2000 * small).epsilon(2 * unit(dtype)));
  }
}
