// Element types. Floating types store activations and weights; integer types store data and indices.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace neon {

enum class DType : uint8_t { f64, f32, f16, bf16, i64, i32, i8, u8 };

size_t size_of(DType dtype);
bool is_floating(DType dtype);
// The type in which arithmetic on `dtype` is done: f64 for f64, otherwise f32.
DType compute_type(DType dtype);
// "f32", "bf16", ...
std::string_view name_of(DType dtype);
// Throws a config error that lists the names.
DType dtype_from_name(std::string_view name);
// Unit roundoff: 2^-53, 2^-24, 2^-11, 2^-8; 0 for integers.
double unit_roundoff(DType dtype);

inline void append_text(std::string& out, DType dtype) { out += name_of(dtype); }

// 16-bit storage types. Conversions round to nearest even, keep NaN and infinity.
struct f16 {
  uint16_t bits;
};
struct bf16 {
  uint16_t bits;
};

float to_float(f16 value);
f16 to_f16(float value);

inline float to_float(bf16 value) { return __builtin_bit_cast(float, uint32_t(value.bits) << 16); }
inline bf16 to_bf16(float value) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return {uint16_t((bits >> 16) | 0x40u)};
  return {uint16_t((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}

// The C++ type of a dtype as a value, for templated lambdas:
//   dispatch(dtype, [&]<typename T>() { ... });
template <typename F>
decltype(auto) dispatch(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f64: return f.template operator()<double>();
    case DType::f32: return f.template operator()<float>();
    case DType::f16: return f.template operator()<f16>();
    case DType::bf16: return f.template operator()<bf16>();
    case DType::i64: return f.template operator()<int64_t>();
    case DType::i32: return f.template operator()<int32_t>();
    case DType::i8: return f.template operator()<int8_t>();
    case DType::u8: return f.template operator()<uint8_t>();
  }
  __builtin_unreachable();
}

// Value of a stored element in compute type C, and back (round to nearest; integers saturate).
template <typename C, typename T>
inline C load_as(T value) {
  if constexpr (sizeof(T) == 2) return C(to_float(value));
  else return C(value);
}
template <typename T, typename C>
inline T store_as(C value) {
  if constexpr (__is_same(T, f16)) {
    return to_f16(float(value));
  } else if constexpr (__is_same(T, bf16)) {
    return to_bf16(float(value));
  } else if constexpr (__is_same(T, float) || __is_same(T, double)) {
    return T(value);
  } else {
    constexpr int bits = int(sizeof(T)) * 8;
    constexpr bool is_unsigned = T(-1) > T(0);
    constexpr double low = is_unsigned ? 0.0 : -double(1ull << (bits - 1));
    constexpr double high = is_unsigned ? double((1ull << bits) - 1) : double((1ull << (bits - 1)) - 1);
    const double rounded = __builtin_rint(double(value));
    if (!(rounded == rounded)) return T(0);
    if (rounded <= low) return T(low);
    if (rounded >= high) return __is_same(T, int64_t) ? T(0x7fffffffffffffff) : T(high);
    return T(rounded);
  }
}

}  // namespace neon
