#include "neon/core/dtype.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "neon/core/error.h"

using namespace neon;

TEST_CASE("every f16 value survives f32 and back") {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const f16 value{uint16_t(bits)};
    const float wide = to_float(value);
    const int exponent = int(bits >> 10) & 31, mantissa = int(bits & 1023);
    const double sign = bits & 0x8000 ? -1 : 1;
    if (exponent == 31 && mantissa) {
      REQUIRE(std::isnan(wide));
      REQUIRE(std::isnan(to_float(to_f16(wide))));
      continue;
    }
    // The definition of IEEE 754 binary16.
    const double expected = exponent == 31  ? std::numeric_limits<double>::infinity()
                            : exponent == 0 ? std::ldexp(mantissa, -24)
                                            : std::ldexp(1024 + mantissa, exponent - 25);
    REQUIRE(double(wide) == sign * expected);
    REQUIRE(to_f16(wide).bits == bits);
  }
}

TEST_CASE("f16 rounds to nearest, ties to even") {
  CHECK(to_float(to_f16(2049.0f)) == 2048.0f);
  CHECK(to_float(to_f16(2051.0f)) == 2052.0f);
  CHECK(to_float(to_f16(65519.0f)) == 65504.0f);
  CHECK(std::isinf(to_float(to_f16(65520.0f))));
  CHECK(to_float(to_f16(0x1p-25f)) == 0.0f);
  CHECK(to_float(to_f16(0x1.8p-25f)) == 0x1p-24f);
  CHECK(to_f16(-0.0f).bits == 0x8000);
}

TEST_CASE("bf16 rounds to nearest, ties to even") {
  CHECK(to_float(to_bf16(257.0f)) == 256.0f);
  CHECK(to_float(to_bf16(259.0f)) == 260.0f);
  CHECK(std::isinf(to_float(to_bf16(3.4e38f))));
  CHECK(std::isnan(to_float(to_bf16(std::numeric_limits<float>::quiet_NaN()))));
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float wide = to_float(bf16{uint16_t(bits)});
    if (!std::isnan(wide)) REQUIRE(to_bf16(wide).bits == bits);
  }
}

TEST_CASE("integers saturate and round") {
  CHECK(store_as<uint8_t>(300.0f) == 255);
  CHECK(store_as<uint8_t>(-3.0f) == 0);
  CHECK(store_as<int8_t>(-200.0) == -128);
  CHECK(store_as<int32_t>(2.5) == 2);
  CHECK(store_as<int32_t>(3.5) == 4);
  CHECK(store_as<int64_t>(1e30) == std::numeric_limits<int64_t>::max());
}

TEST_CASE("an unknown dtype is answered with the list") {
  CHECK(dtype_from_name("bf16") == DType::bf16);
  CHECK_THROWS_WITH(dtype_from_name("f8"), Catch::Contains("unknown dtype 'f8'") && Catch::Contains("f64, f32, f16"));
}
