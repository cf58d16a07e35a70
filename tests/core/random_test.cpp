#include "neon/core/random.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <map>

using namespace neon;

// Known answers from the Random123 distribution (kat_vectors, philox4x32-10).
TEST_CASE("philox gives the published numbers") {
  CHECK(philox({0, 0, 0, 0}, {0, 0}) == Philox4{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u});
  CHECK(philox({0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffffffffu}, {0xffffffffu, 0xffffffffu}) ==
        Philox4{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu});
  CHECK(philox({0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}, {0xa4093822u, 0x299f31d0u}) ==
        Philox4{0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u});
}

TEST_CASE("streams differ by seed, name and step, and repeat") {
  auto first = [](uint64_t seed, const char* name, uint64_t step) { return Stream(seed, name, step).bits(); };
  CHECK(first(1, "a", 0) == first(1, "a", 0));
  CHECK(first(1, "a", 0) != first(2, "a", 0));
  CHECK(first(1, "a", 0) != first(1, "b", 0));
  CHECK(first(1, "a", 0) != first(1, "a", 1));
}

TEST_CASE("moments are right") {
  Stream stream(7, "moments");
  const int n = 200000;
  double sum = 0, squares = 0, normal_sum = 0, normal_squares = 0;
  std::map<uint32_t, int> counts;
  for (int i = 0; i < n; ++i) {
    const double u = stream.uniform(), z = stream.normal();
    sum += u, squares += u * u, normal_sum += z, normal_squares += z * z;
    ++counts[stream.below(7)];
  }
  // Five standard errors.
  CHECK(sum / n == Approx(0.5).margin(5 * std::sqrt(1.0 / 12 / n)));
  CHECK(squares / n == Approx(1.0 / 3).margin(0.005));
  CHECK(normal_sum / n == Approx(0).margin(5 / std::sqrt(n)));
  CHECK(normal_squares / n == Approx(1).margin(5 * std::sqrt(2.0 / n)));
  CHECK(counts.size() == 7);
  for (auto [value, count] : counts) CHECK(count == Approx(n / 7.0).margin(5 * std::sqrt(n / 7.0)));
}
