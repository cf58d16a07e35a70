// Conversions of blocks against those of one element in neon/core/dtype.h, at every level.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <random>
#include <type_traits>
#include <vector>

#include "backends/elementwise/kernels.h"

using namespace neon;
using namespace neon::elementwise;

namespace {

template <typename T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b, size_t& where) {
  for (where = 0; where < a.size(); ++where)
    if (std::memcmp(&a[where], &b[where], sizeof(T)) != 0) return false;
  return true;
}

template <typename C, typename T>
void check_load(DType stored, DType compute, const std::vector<T>& x) {
  std::vector<C> expected, got(x.size());
  for (const T& value : x) expected.push_back(load_as<C>(value));
  for (const Level& level : levels()) {
    load_function(stored, compute, level)(x.data(), got.data(), int64_t(x.size()));
    size_t where;
    const bool same = same_bits(got, expected, where);
    INFO("load " << name_of(stored) << " as " << name_of(compute) << " at " << level.name << ", element " << where);
    CHECK(same);
  }
}

template <typename T, typename C>
void check_store(DType compute, DType stored, const std::vector<C>& x) {
  std::vector<T> expected, got(x.size());
  for (C value : x) expected.push_back(store_as<T>(value));
  for (const Level& level : levels()) {
    store_function(compute, stored, level)(x.data(), got.data(), int64_t(x.size()));
    size_t where;
    const bool same = same_bits(got, expected, where);
    INFO("store " << name_of(compute) << " as " << name_of(stored) << " at " << level.name << ", value "
                  << (where < x.size() ? double(x[where]) : 0));
    CHECK(same);
  }
}

template <typename T>
std::vector<T> patterns(int bits) {
  std::vector<T> out;
  for (uint32_t i = 0; i < (1u << bits); ++i) {
    T value;
    std::memcpy(&value, &i, sizeof(T));
    out.push_back(value);
  }
  return out;
}

// Every pattern of a 16-bit type is between two of these or one of them, and so is every tie; and random bits.
template <typename C>
std::vector<C> numbers() {
  std::vector<C> out = {0,         C(-0.0),         C(INFINITY),      C(-INFINITY),    C(NAN),
                        C(-NAN),   C(2147483647.0), C(-2147483648.0), C(2147483648.0), C(4e18),
                        C(9.3e18), C(-9.3e18),      C(1e30),          C(254.5),        C(255.5),
                        C(-128.5)};
  for (f16 half : patterns<f16>(16)) {
    const float x = to_float(half);
    const float next = std::nextafter(x, INFINITY), last = std::nextafter(x, -INFINITY);
    const float tie = x + (to_float(f16{uint16_t(half.bits + 1)}) - x) / 2;
    for (float y : {x, next, last, tie, std::nextafter(tie, 0.0f)}) out.push_back(C(y));
  }
  for (bf16 half : patterns<bf16>(16)) {
    const uint32_t tie = uint32_t(half.bits) << 16 | 0x8000u;
    for (uint32_t bits : {tie - 1, tie, tie + 1}) out.push_back(C(__builtin_bit_cast(float, bits)));
  }
  std::mt19937_64 random(3);
  for (int i = 0; i < 100000; ++i) {
    const uint64_t bits = random();
    C x;
    std::memcpy(&x, &bits, sizeof(C));
    out.push_back(x);
    out.push_back(C(double(int64_t(bits)) * 0x1p-54));  // whole and half numbers and others within +-512
    out.push_back(C(double(int32_t(bits)) * 0.5));
  }
  return out;
}

template <typename C>
void check_all(DType compute) {
  check_load<C>(DType::f16, compute, patterns<f16>(16));
  check_load<C>(DType::bf16, compute, patterns<bf16>(16));
  check_load<C>(DType::u8, compute, patterns<uint8_t>(8));
  check_load<C>(DType::i8, compute, patterns<int8_t>(8));
  std::mt19937_64 random(9);
  std::vector<int32_t> ints = {0, 1, -1, INT32_MAX, INT32_MIN, 16777217, 33554435};
  std::vector<int64_t> longs = {0, 1, -1, INT64_MAX, INT64_MIN, 9007199254740993, 16777217};
  for (int i = 0; i < 1000; ++i) ints.push_back(int32_t(random())), longs.push_back(int64_t(random() >> (i % 60)));
  check_load<C>(DType::i32, compute, ints);
  check_load<C>(DType::i64, compute, longs);

  const std::vector<C> x = numbers<C>();
  check_store<f16>(compute, DType::f16, x);
  check_store<bf16>(compute, DType::bf16, x);
  check_store<uint8_t>(compute, DType::u8, x);
  check_store<int8_t>(compute, DType::i8, x);
  check_store<int32_t>(compute, DType::i32, x);
  check_store<int64_t>(compute, DType::i64, x);
  check_load<C>(DType::f32, compute, numbers<float>());
  check_load<C>(DType::f64, compute, numbers<double>());
  check_store<float>(compute, DType::f32, x);
  check_store<double>(compute, DType::f64, x);
}

}  // namespace

TEST_CASE("blocks of f32 convert as single elements do") { check_all<float>(DType::f32); }
TEST_CASE("blocks of f64 convert as single elements do") { check_all<double>(DType::f64); }
