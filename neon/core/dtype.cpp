#include "neon/core/dtype.h"

#include <array>
#include <cmath>

#include "neon/core/error.h"

namespace neon {

namespace {

struct Row {
  DType dtype;
  const char* name;
  size_t size;
  int mantissa_bits;  // stored plus hidden; 0 for integers
};

constexpr std::array<Row, 8> kRows = {{
    {DType::f64, "f64", 8, 53},
    {DType::f32, "f32", 4, 24},
    {DType::f16, "f16", 2, 11},
    {DType::bf16, "bf16", 2, 8},
    {DType::i64, "i64", 8, 0},
    {DType::i32, "i32", 4, 0},
    {DType::i8, "i8", 1, 0},
    {DType::u8, "u8", 1, 0},
}};

const Row& row(DType dtype) { return kRows[size_t(dtype)]; }

}  // namespace

size_t size_of(DType dtype) { return row(dtype).size; }
bool is_floating(DType dtype) { return row(dtype).mantissa_bits > 0; }
DType compute_type(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }
std::string_view name_of(DType dtype) { return row(dtype).name; }
double unit_roundoff(DType dtype) { return is_floating(dtype) ? std::ldexp(1.0, -row(dtype).mantissa_bits) : 0; }

DType dtype_from_name(std::string_view name) {
  std::vector<std::string> names;
  for (const Row& r : kRows) {
    if (name == r.name) return r.dtype;
    names.push_back(r.name);
  }
  fail(ErrorKind::config, "unknown dtype '", name, "': expected one of ", join(names, ", "));
}

float to_float(f16 value) {
  const uint32_t sign = uint32_t(value.bits & 0x8000u) << 16;
  const uint32_t exponent = (value.bits >> 10) & 31u;
  const uint32_t mantissa = value.bits & 1023u;
  if (exponent == 31) return __builtin_bit_cast(float, sign | 0x7f800000u | (mantissa << 13));
  if (exponent == 0) {
    const float magnitude = float(mantissa) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  return __builtin_bit_cast(float, sign | ((exponent + 112u) << 23) | (mantissa << 13));
}

f16 to_f16(float value) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, value);
  const uint16_t sign = uint16_t((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return {uint16_t(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu))};
  if (magnitude >= 0x477ff000u) return {uint16_t(sign | 0x7c00u)};  // rounds to 65536 or more
  if (magnitude < 0x38800000u) {                                    // subnormal: let the float adder round at 2^-24
    const float shifted = __builtin_bit_cast(float, magnitude) + 0.5f;
    return {uint16_t(sign | (__builtin_bit_cast(uint32_t, shifted) - 0x3f000000u))};
  }
  const uint32_t rounded = magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u);
  return {uint16_t(sign | (rounded >> 13))};
}

}  // namespace neon
