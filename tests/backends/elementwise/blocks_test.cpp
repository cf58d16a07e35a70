// What the loops promise whatever the function: the same bits at every level, in body and tail, with scalars, in place.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "backends/elementwise/kernels.h"
#include "neon/core/error.h"
#include "neon/core/random.h"

using namespace neon;
using namespace neon::elementwise;

namespace {

// All NaNs count as one: which operand's payload survives is the processor's choice.
template <typename R>
bool same(R a, R b) {
  return (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, sizeof(R)) == 0;
}

// Ordinary values, and every 13th one special.
template <typename R>
std::vector<R> block(int64_t n, unsigned seed) {
  using N = std::numeric_limits<R>;
  const R special[] = {0,        R(-0.0),  N::infinity(), -N::infinity(), N::quiet_NaN(),
                       N::max(), N::min(), R(-1e-30),     R(1e10),        N::denorm_min(),
                       1,        -1};
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> even(-6, 6);
  std::vector<R> x;
  for (int64_t i = 0; i < n; ++i) x.push_back(i % 13 == 12 ? special[random() % 12] : R(even(random)));
  return x;
}

// A loop of the table: the value of a row, or one of its derivatives.
template <typename R>
struct Loop {
  std::string what;
  int inputs;
  unsigned may_be_scalar;
  const Row* row;
  int operand;  // -1: the value
  BlockFunction<R> at(unsigned scalars, const Level& level) const {
    return operand < 0 ? block_function<R>(*row, scalars, level)
                       : derivative_function<R>(*row, operand, scalars, level);
  }
};

template <typename R>
std::vector<Loop<R>> loops() {
  std::vector<Loop<R>> out;
  for (const Row& row : rows()) {
    out.push_back({row.name, row.arity, (1u << row.arity) - 1, &row, -1});
    for (int operand = 0; operand < row.arity; ++operand) {
      if (!row.derivatives[operand]) continue;
      const unsigned reads = row.reads[operand];
      const int inputs = __builtin_popcount(reads);
      unsigned scalar = (1u << inputs) - 2;  // all but g
      if (reads & kOutput) scalar &= ~(1u << (inputs - 1));
      out.push_back({std::string(row.name) + " by operand " + std::to_string(operand), inputs, scalar, &row, operand});
    }
  }
  return out;
}

// Element by element at the lowest level: what every other way to run the loop must give.
template <typename R>
std::vector<R> reference(const Loop<R>& loop, const std::vector<std::vector<R>>& x, unsigned scalars, int64_t n) {
  std::vector<R> y(static_cast<size_t>(n));
  const BlockFunction<R> f = loop.at(0, levels().front());
  for (int64_t i = 0; i < n; ++i) {
    const R* inputs[5];
    for (int k = 0; k < loop.inputs; ++k) inputs[k] = x[size_t(k)].data() + (scalars >> k & 1 ? 0 : i);
    f(inputs, &y[size_t(i)], 1);
  }
  return y;
}

template <typename R>
void check(const Loop<R>& loop, const Level& level, const std::vector<std::vector<R>>& x, unsigned scalars, int64_t n,
           const std::vector<R>& expected) {
  const R* inputs[5];
  for (int k = 0; k < loop.inputs; ++k) inputs[k] = x[size_t(k)].data();
  const R guard = R(12345.5);
  std::vector<R> y(size_t(n) + 1, guard);
  loop.at(scalars, level)(inputs, y.data(), n);
  bool good = y[size_t(n)] == guard;
  int64_t i = 0;
  for (; good && i < n; ++i) good = same(y[size_t(i)], expected[size_t(i)]);
  INFO(loop.what << " of f" << 8 * sizeof(R) << " at " << level.name << ", scalars " << scalars << ", n " << n
                 << ", element " << i - 1);
  if (!good) FAIL_CHECK();
}

template <typename R>
void check_everywhere() {
  constexpr int64_t kLength = 1100;
  for (const Loop<R>& loop : loops<R>()) {
    std::vector<std::vector<R>> x;
    for (int k = 0; k < loop.inputs; ++k) x.push_back(block<R>(kLength, unsigned(k) + 1));
    for (unsigned scalars = 0; scalars < 1u << loop.inputs; ++scalars) {
      if ((scalars & ~loop.may_be_scalar) || (scalars && loop.operand < 0 && scalars + 1 == 1u << loop.inputs))
        continue;
      const std::vector<R> expected = reference(loop, x, scalars, kLength);
      for (const Level& level : levels()) {
        check(loop, level, x, scalars, kLength, expected);
        for (int64_t n = 0; n <= (scalars ? 3 : 70); ++n) check(loop, level, x, scalars, n, expected);
      }
    }
  }
}

template <typename R>
void check_in_place() {
  for (const Loop<R>& loop : loops<R>())
    for (const Level& level : levels())
      for (int into = 0; into < loop.inputs; ++into) {
        std::vector<std::vector<R>> x;
        for (int k = 0; k < loop.inputs; ++k) x.push_back(block<R>(333, unsigned(k) + 1));
        const std::vector<R> expected = reference(loop, x, 0, 333);
        const R* inputs[5];
        for (int k = 0; k < loop.inputs; ++k) inputs[k] = x[size_t(k)].data();
        loop.at(0, level)(inputs, x[size_t(into)].data(), 333);
        bool good = true;
        for (size_t i = 0; i < 333; ++i) good = good && same(x[size_t(into)][i], expected[i]);
        INFO(loop.what << " into input " << into << " at " << level.name);
        if (!good) FAIL_CHECK();
      }
}

// Sixteen lanes, then a tree: written plainly.
template <typename R, typename Join>
R lanes_of_16(const std::vector<R>& x, int64_t n, R start, Join join) {
  std::vector<R> lane(16, start);
  for (int64_t i = 0; i < n; ++i) lane[size_t(i % 16)] = join(lane[size_t(i % 16)], x[size_t(i)]);
  for (size_t width = 8; width > 0; width /= 2)
    for (size_t l = 0; l < width; ++l) lane[l] = join(lane[l], lane[l + width]);
  return lane[0];
}

template <typename R>
const Reductions<R>& reductions(const Level& level) {
  if constexpr (sizeof(R) == 4) return *level.reduce_f32;
  else return *level.reduce_f64;
}

template <typename R>
void check_reductions() {
  const R inf = std::numeric_limits<R>::infinity();
  std::mt19937_64 random(4);
  std::vector<R> x;
  for (int i = 0; i < 1100; ++i) x.push_back(R(int(random() % 2000) - 1000) * R(0.1));  // with ties
  for (const Level& level : levels()) {
    const Reductions<R>& reduce = reductions<R>(level);
    for (int64_t n = 0; n <= 1100; n += n < 70 ? 1 : 103) {
      INFO(level.name << ", n " << n);
      CHECK(same(reduce.sum(x.data(), n), lanes_of_16(x, n, R(0), [](R a, R b) { return a + b; })));
      const auto end = x.begin() + n;
      CHECK(reduce.maximum(x.data(), n) == (n ? *std::max_element(x.begin(), end) : -inf));
      CHECK(reduce.minimum(x.data(), n) == (n ? *std::min_element(x.begin(), end) : inf));
      if (n == 0) continue;
      CHECK(reduce.argmax(x.data(), n) == std::max_element(x.begin(), end) - x.begin());
      CHECK(reduce.argmin(x.data(), n) == std::min_element(x.begin(), end) - x.begin());
    }
    // Like numbers, whose roundings add up: as many at most as 256 in each lane and the levels above have.
    for (const int64_t n : {4096, 4097, 5000, 1000003}) {
      const std::vector<R> like(size_t(n), R(0.1));
      const double expected = double(n) * double(R(0.1));
      CHECK(std::abs(double(reduce.sum(like.data(), n)) - expected) <=
            expected * (256 + 16) * double(std::numeric_limits<R>::epsilon()) / 2);
    }
    for (size_t place : {size_t(0), size_t(5), size_t(40), size_t(99)}) {
      std::vector<R> holed(x.begin(), x.begin() + 100);
      holed[place] = std::numeric_limits<R>::quiet_NaN();
      CHECK(std::isnan(reduce.sum(holed.data(), 100)));
      CHECK(std::isnan(reduce.maximum(holed.data(), 100)));
      CHECK(std::isnan(reduce.minimum(holed.data(), 100)));
      CHECK(reduce.argmax(holed.data(), 100) == int64_t(place));
      CHECK(reduce.argmin(holed.data(), 100) == int64_t(place));
    }
  }
}

}  // namespace

TEST_CASE("levels, tails and scalars give the same bits in f32") { check_everywhere<float>(); }
TEST_CASE("levels, tails and scalars give the same bits in f64") { check_everywhere<double>(); }
TEST_CASE("a loop may write over one of its inputs") {
  check_in_place<float>();
  check_in_place<double>();
}

TEST_CASE("reductions keep one order") {
  check_reductions<float>();
  check_reductions<double>();
}

TEST_CASE("random blocks are the host's streams") {
  const uint64_t seed = 0x123456789abcdefull, step = 0x100000007ull;
  Stream stream(seed, "layer/dropout", step);
  std::vector<uint32_t> expected(2000);
  for (uint32_t& bits : expected) bits = stream.bits();
  const RandomKey key{seed, hash_name("layer/dropout"), step};
  for (const Level& level : levels())
    for (uint64_t first : {0, 1, 2, 3, 4, 63, 1000})
      for (int64_t n : {0, 1, 2, 3, 4, 5, 17, 64, 333, 1000}) {
        std::vector<uint32_t> bits(size_t(n) + 1, 99);
        std::vector<float> uniform(size_t(n) + 1, 99);
        std::vector<double> wide(size_t(n) + 1, 99);
        level.random->bits(key, first, bits.data(), n);
        level.random->uniform_f32(key, first, uniform.data(), n);
        level.random->uniform_f64(key, first, wide.data(), n);
        bool good = bits[size_t(n)] == 99 && uniform[size_t(n)] == 99 && wide[size_t(n)] == 99;
        for (size_t i = 0; i < size_t(n); ++i) {
          const uint32_t raw = expected[first + i];
          good = good && bits[i] == raw && uniform[i] == uniform_from_bits(raw) && wide[i] == uniform[i];
        }
        INFO(level.name << " from " << first << ", n " << n);
        CHECK(good);
      }
}

TEST_CASE("random blocks cross the 32-bit boundary of the counter") {
  const RandomKey key{5, 77, 9};
  const uint64_t first = (uint64_t(1) << 34) - 40;  // group 2^32 - 10
  for (const Level& level : levels()) {
    std::vector<uint32_t> bits(100);
    level.random->bits(key, first, bits.data(), 100);
    for (uint64_t i = 0; i < 100; ++i) {
      const uint64_t group = (first + i) / 4;
      const Philox4 four = philox({uint32_t(group), uint32_t(group >> 32), 77u ^ 9u, 0}, {5, 0});
      CHECK(bits[i] == four[(first + i) % 4]);
    }
  }
}

TEST_CASE("levels are named, and a wrong name is told") {
  CHECK(std::string(levels().front().name) == "v2");
  CHECK(&level_named("v2") == &levels().front());
  CHECK_THROWS_WITH(level_named("v5"), "NEON_SIMD=v5: expected an x86-64 level: v2, v3 or v4");
}

// What the suites that run once for each level are skipped for, there; a wrong name is no reason.
TEST_CASE("a level too high for the processor is an error of the device") {
  const auto kind = [](std::string_view name) {
    try {
      level_named(name, levels().first(1));
      return ErrorKind::failed;
    } catch (const Error& error) {
      return error.kind();
    }
  };
  CHECK(kind("v4") == ErrorKind::device);
  CHECK(kind("v5") == ErrorKind::config);
  CHECK_THROWS_WITH(level_named("v4", levels().first(1)),
                    "NEON_SIMD=v4: this processor runs v2 at most; unset NEON_SIMD or name a lower level");
}

TEST_CASE("the device source holds the texts") {
  const std::string_view source = elementwise_source();
  CHECK(source.find("ROW(relu, 1, ") != source.npos);
  CHECK(source.find("NEON_FN double erf(double x)") != source.npos);
  CHECK(source.find("#include") == source.npos);
  CHECK(source.find('\0') == source.npos);
}
