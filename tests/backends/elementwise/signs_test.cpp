// Products of signs as bits at every level, against a loop over the numbers themselves.
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "backends/elementwise/kernels.h"
#include "neon/core/random.h"

using namespace neon;
using namespace neon::elementwise;

namespace {

// Numbers on both sides of 0, zeros of both signs and infinities among them.
std::vector<float> drawn(int64_t n, const std::string& name) {
  Stream from(5, name);
  std::vector<float> out;
  for (int64_t i = 0; i < n; ++i) {
    const auto kind = from.below(8);
    out.push_back(kind == 0   ? 0.0f
                  : kind == 1 ? -0.0f
                  : kind == 2 ? -INFINITY
                  : kind == 3 ? -1e-40f
                              : float(from.normal()));
  }
  return out;
}

int sign(float x) { return x < 0 ? -1 : 1; }

void check_products(const Signs& signs, int64_t rows, int64_t length) {
  INFO(rows << " rows of " << length);
  const int64_t words = (length + 63) / 64;
  const std::vector<float> a = drawn(rows * length, "a"), b = drawn(kSignColumns * length, "b");
  std::vector<uint64_t> a_words(size_t(rows * words) + 1), b_words(size_t(kSignColumns * words) + 1);
  bool nan = false;
  for (int64_t i = 0; i < rows; ++i) nan |= signs.pack(&a[size_t(i * length)], length, &a_words[size_t(i * words)], 1);
  for (int64_t j = 0; j < kSignColumns; ++j)
    nan |= signs.pack(&b[size_t(j * length)], length, &b_words[size_t(j)], kSignColumns);
  CHECK(!nan);
  const int64_t c_row = kSignColumns + 3;
  std::vector<float> c(size_t(rows * c_row), 0.5f);
  signs.multiply({rows, words, length, c_row}, a_words.data(), b_words.data(), c.data());
  int wrong = 0;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < c_row; ++j) {
      float expected = 0.5f;  // behind the columns nothing is written
      if (j < kSignColumns) {
        int64_t sum = 0;
        for (int64_t k = 0; k < length; ++k) sum += sign(a[size_t(i * length + k)]) * sign(b[size_t(j * length + k)]);
        expected = float(sum);
      }
      wrong += c[size_t(i * c_row + j)] != expected;
    }
  CHECK(wrong == 0);
}

// Those of each level, and those that count bits with an instruction of their own.
std::vector<const Signs*> all_signs() {
  std::vector<const Signs*> out;
  for (const Level& level : levels()) {
    out.push_back(level.signs);
    if (&fastest_signs(level) != level.signs) out.push_back(&fastest_signs(level));
  }
  return out;
}

}  // namespace

TEST_CASE("products of signs are whole numbers at every level") {
  // 31 and 32 words: bytes hold the counts of 31.
  for (const Signs* signs : all_signs())
    for (const int64_t length : {1, 63, 64, 65, 200, 31 * 64, 32 * 64 - 1, 5000})
      for (const int64_t rows : {1, 7, 8, 19}) check_products(*signs, rows, length);
}

TEST_CASE("rows that differ in every sign have the least product") {
  for (const Signs* signs : all_signs()) {
    const int64_t length = 64 * 100, words = 100;
    std::vector<uint64_t> a(size_t(words), ~uint64_t(0)), b(size_t(words * kSignColumns), 0);
    float c[kSignColumns];
    signs->multiply({1, words, length, kSignColumns}, a.data(), b.data(), c);
    for (const float product : c) CHECK(product == float(-length));
  }
}

TEST_CASE("packing finds a NaN at every place") {
  for (const Signs* signs : all_signs())
    for (const size_t place : {0, 15, 63, 64, 69}) {
      std::vector<float> x(70, 1.0f);
      uint64_t words[2];
      CHECK(!signs->pack(x.data(), 70, words, 1));
      x[place] = NAN;
      CHECK(signs->pack(x.data(), 70, words, 1));
    }
}
