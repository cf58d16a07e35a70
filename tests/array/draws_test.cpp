// What is drawn, rounded by chance, and counted.
#include <cstring>

#include "support.h"

using namespace neon;
using namespace neon::test;

TEST_CASE("draws depend on the seed and the evaluation alone") {
  Backend be = make_backend(DType::f32, 3), same = make_backend(DType::f32, 3), other = make_backend(DType::f32, 4);
  const Array a = be.uniform({1000}), b = be.uniform({1000});
  auto equal = [](const Array& x, const Array& y) {
    const Tensor p = x.get(), q = y.get();
    return std::memcmp(p.data(), q.data(), p.bytes()) == 0;
  };
  CHECK(equal(a, Array(same.uniform({1000}))));
  CHECK(!equal(a, b));
  CHECK(!equal(a, Array(other.uniform({1000}))));
  const Array difference = be.uniform({50}) - be.uniform({50});  // two draws, not one
  CHECK(Array(max(abs(difference))).item() > 0.1);
  const DrawState state = be.draw_state();
  const Array c = be.normal({1000});
  be.set_draw_state(state);
  CHECK(equal(c, Array(be.normal({1000}))));
  be.set_draw_state({4, 0});
  CHECK(equal(Array(be.uniform({1000})), Array(make_backend(DType::f32, 4).uniform({1000}))));
}

TEST_CASE("draws have the distribution of their name") {
  Backend be = make_backend();
  constexpr int64_t n = 200000;
  const double root = std::sqrt(double(n));
  const Array u = be.uniform({n}, -1, 3), g = be.normal({n}, 5, 2), m = be.mask({n}, 0.3);
  CHECK(Array(min(u)).item() >= -1);
  CHECK(Array(max(u)).item() < 3);
  // Five deviations of the means and of the variances.
  CHECK(Array(mean(u)).item() == Approx(1).margin(5 * 4 / std::sqrt(12.0) / root));
  CHECK(Array(mean(g)).item() == Approx(5).margin(5 * 2 / root));
  CHECK(Array(var(g)).item() == Approx(4).margin(5 * 4 * std::sqrt(2.0) / root));
  CHECK(Array(mean(square(g - 5) * square(g - 5))).item() == Approx(3 * 16).margin(5 * 16 * std::sqrt(96.0) / root));
  CHECK(Array(mean(m)).item() == Approx(0.3).margin(5 * std::sqrt(0.21) / root));
  CHECK(Array(sum(m * (1 - m))).item() == 0);
}

TEST_CASE("an array rounds what it is given by chance, and no other name of it") {
  Backend be = make_backend();
  constexpr int64_t n = 100000;
  Array half = be.empty({n}, DType::f16);
  Array name = half;
  half.round_by_chance(1).assign(be.full({n}, 1.1));
  const Tensor y = half.get();
  int64_t up = 0;
  for (int64_t i = 0; i < n; ++i) {
    REQUIRE((y.at(i) == 1 || y.at(i) == 1.5));
    up += y.at(i) == 1.5;
  }
  // neon's example: 1.5 in a fifth of the draws.
  CHECK(std::fabs(double(up) - 0.2 * n) < 5 * std::sqrt(n * 0.2 * 0.8));
  name.assign(1.1);
  CHECK(name.get().at(0) == 0x1.198p0);
  Array part = be.zeros({4, 3});
  part.slice(1, 1, 1).round_by_chance(2).assign(0.3);
  for (int64_t i = 0; i < 4; ++i) CHECK((part.get().at(3 * i + 1) == 0.25 || part.get().at(3 * i + 1) == 0.3125));
}

TEST_CASE("every way to write to an array rounds by chance as it says") {
  // 1.1 with one bit of mantissa is 1 or 1.5; which of both, in the many elements.
  auto check_drawn = [](const Array& array) {
    const Tensor y = array.get();
    int64_t up = 0;
    for (int64_t i = 0; i < y.elements(); ++i) {
      REQUIRE((y.at(i) == 1 || y.at(i) == 1.5));
      up += y.at(i) == 1.5;
    }
    CHECK(std::fabs(double(up) - 0.2 * double(y.elements())) < 5 * std::sqrt(double(y.elements()) * 0.16));
  };
  Backend be = make_backend();
  const Array ones = be.ones({4, 20, 1}), row = be.full({4, 1, 50}, 1.1);
  for (int which : {0, 1, 2}) {
    INFO("case " << which);
    const Lazy one = row.slice(0, 0, 1).reshape({1, 50});
    Array c = be.zeros({4, 20, 50}), total = be.zeros({20, 50});
    batched_dot(which == 1 ? ones.slice(0, 0, 1).reshape({20, 1}) : ones, which == 2 ? one : row, c.round_by_chance(1));
    check_drawn(c);
    batched_dot(ones, row, total.round_by_chance(1), {.alpha = 0.25});
    check_drawn(total);
  }
  Array x = be.ones({1000}), gradient = be.zeros({1000});
  Autodiff(1.1 * x).back_prop({x}, {gradient.round_by_chance(1)});
  check_drawn(gradient);
}

TEST_CASE("a part of an expression is rounded by chance, once for all who read it") {
  Backend be = make_backend();
  constexpr int64_t n = 20000;
  const Lazy drawn = round_by_chance(be.full({n}, 1.1) * 1.0, 1, DType::f16);
  CHECK(drawn.dtype() == DType::f16);
  const Array twice = drawn + drawn, again = drawn + 0;
  const Tensor sums = twice.get(), others = again.get();
  int64_t up = 0, differ = 0;
  for (int64_t i = 0; i < n; ++i) {
    REQUIRE((sums.at(i) == 2 || sums.at(i) == 3));
    up += sums.at(i) == 3;
    differ += others.at(i) != sums.at(i) / 2;
  }
  CHECK(std::fabs(double(up) - 0.2 * n) < 5 * std::sqrt(n * 0.2 * 0.8));
  CHECK(std::fabs(double(differ) - 0.32 * n) < 5 * std::sqrt(n * 0.32 * 0.68));  // 2 * 0.2 * 0.8
  CHECK_THROWS_WITH(round_by_chance(be.ones({2}), 16), Catch::Contains("1 to 15 bits of f32, not 16"));
  CHECK_THROWS_WITH(round_by_chance(be.ones({2}), 11, DType::f16), Catch::Contains("1 to 10 bits of f16, not 11"));
}

TEST_CASE("a compensated sum carries what rounding by chance takes") {
  for (DType dtype : {DType::f16, DType::f32}) {
    Backend be = make_backend(dtype);
    Array total = be.ones({1000}), carry = be.zeros({1000});
    total.round_by_chance(3);
    compensated_sum(total, carry, be.full({1000}, 0.03125));
    // 1 + 1/32 is a quarter of the way from 1 to 1 + 1/8; carry is what was added too much.
    const Tensor sums = total.get(), carries = carry.get();
    int64_t up = 0;
    for (int64_t i = 0; i < 1000; ++i) {
      const double sum = sums.at(i);
      REQUIRE((sum == 1 || sum == 1.125));
      CHECK(carries.at(i) == sum - 1.03125);
      up += sum == 1.125;
    }
    CHECK(std::fabs(double(up) - 250) < 5 * std::sqrt(1000 * 0.1875));
  }
}

TEST_CASE("histograms by tag") {
  Backend be = make_backend();
  const Array small = be.full({3, 4}, 0.25), bytes = be.array({0, 1, 2, 4, 255}, {5}, DType::u8);
  be.hist(small, "weights");
  Array row = be.hist(bytes, "bytes");
  CHECK(row.dtype() == DType::i32);
  row.assign(0);  // which is the caller's
  be.hist(small + 1.75, "weights");
  auto [counts, tags] = be.dump_hist_data();
  CHECK(counts.shape() == Shape{3, 64});
  CHECK((tags.size() == 2 && tags["weights"] == 2 && tags["bytes"] == 1));
  // Bin i is of 2^(i - 48).
  CHECK((counts.at(46) == 12 && counts.at(2 * 64 + 49) == 12));
  CHECK((counts.at(64) == 1 && counts.at(64 + 48) == 1 && counts.at(64 + 49) == 1 && counts.at(64 + 50) == 1));
  CHECK(counts.at(64 + 56) == 1);
  CHECK(be.dump_hist_data().first.shape() == Shape{0, 64});
  be.hist(small, "gone");
  be.set_hist_buffers(8, -4);
  be.hist(small, "here");
  auto [few, names] = be.dump_hist_data();
  CHECK((few.shape() == Shape{1, 8} && few.at(2) == 12 && names.size() == 1));
  CHECK_THROWS_WITH(be.set_hist_buffers(0, 0), "a histogram has 1 to 1024 bins, not 0");
  CHECK_THROWS_WITH(be.set_hist_buffers(8, INT64_MIN), Catch::Contains("from -1000 to 1000, not -9223372036854775808"));
}
