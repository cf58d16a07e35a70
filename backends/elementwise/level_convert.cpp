// Conversions between what is stored and what is computed with, to the bit those of neon/core/dtype.h.
#include "backends/elementwise/level.h"

namespace neon::elementwise::NEON_LEVEL {
namespace {

#include "backends/elementwise/bf16.inc"

struct f16 {
  uint16_t bits;
};

#define NEON_INLINE [[gnu::always_inline]] inline
NEON_INLINE float from_bits(uint32_t x) { return __builtin_bit_cast(float, x); }
NEON_INLINE uint32_t bits_of(float x) { return __builtin_bit_cast(uint32_t, x); }

NEON_INLINE float to_float(f16 x) {
  const uint32_t sign = uint32_t(x.bits & 0x8000u) << 16, size = uint32_t(x.bits & 0x7fffu) << 13;
  const float subnormal = float(int32_t(x.bits & 0x3ffu)) * 0x1p-24f;
  const uint32_t normal = size + (size >= 0x0f800000u ? 0x70000000u : 0x38000000u);  // infinity and NaN stay such
  return from_bits(sign | (size < 0x00800000u ? bits_of(subnormal) : normal));
}

NEON_INLINE f16 to_f16(float x) {
  const uint32_t bits = bits_of(x), sign = (bits >> 16) & 0x8000u, size = bits & 0x7fffffffu;
  // Below the normal range, the adder rounds at 2^-24.
  const uint32_t subnormal = bits_of(from_bits(size) + 0.5f) - 0x3f000000u;
  const uint32_t normal = (size - 0x38000000u + 0xfffu + ((size >> 13) & 1u)) >> 13;
  uint32_t out = size < 0x38800000u ? subnormal : normal;
  out = size >= 0x477ff000u ? 0x7c00u : out;
  out = size > 0x7f800000u ? 0x7e00u | ((size >> 13) & 0x3ffu) : out;
  return {uint16_t(sign | out)};
}

NEON_INLINE float rounded(float x) { return __builtin_rintf(x); }
NEON_INLINE double rounded(double x) { return __builtin_rint(x); }

// To the nearest of [low, high], which int32 holds and R holds exactly; NaN gives 0.
template <typename R>
NEON_INLINE int32_t clamped(R x, R low, R high) {
  R r = rounded(x);
  r = r > low ? r : (r == r ? low : R(0));
  r = r < high ? r : high;
  return int32_t(r);
}

template <typename T, typename R>
NEON_INLINE T store_as(R x) {
  if constexpr (__is_same(T, f16)) return to_f16(float(x));
  else if constexpr (__is_same(T, bf16)) return to_bf16(float(x));
  else if constexpr (__is_same(T, uint8_t)) return uint8_t(clamped<R>(x, 0, 255));
  else if constexpr (__is_same(T, int8_t)) return int8_t(clamped<R>(x, -128, 127));
  else if constexpr (__is_same(T, int32_t) || __is_same(T, int64_t)) {
    // 2^31 and 2^63 are no value of T, so what reaches them is put in afterwards.
    constexpr R limit = __is_same(T, int32_t) ? R(0x1p31) : R(0x1p63);
    constexpr T highest = __is_same(T, int32_t) ? T(0x7fffffff) : T(0x7fffffffffffffff);
    const R r = rounded(x);
    const bool inside = (r > -limit) & (r < limit);
    const T near = T(inside ? r : R(0));
    return r >= limit ? highest : (r <= -limit ? T(-highest - 1) : near);
  } else {
    return T(x);
  }
}
template <typename R, typename T>
NEON_INLINE R load_as(T x) {
  if constexpr (sizeof(T) == 2) return R(to_float(x));
  else return R(x);
}

template <typename R, typename T>
void load(const void* from, void* to, int64_t n) {
  const T* __restrict x = static_cast<const T*>(from);
  R* __restrict y = static_cast<R*>(to);
  for (int64_t i = 0; i < n; ++i) y[i] = load_as<R>(x[i]);
}
template <typename R, typename T>
void store(const void* from, void* to, int64_t n) {
  const R* __restrict x = static_cast<const R*>(from);
  T* __restrict y = static_cast<T*>(to);
  for (int64_t i = 0; i < n; ++i) y[i] = store_as<T>(x[i]);
}

// In the order of neon::DType; converters in kernels.cpp asserts it.
template <typename R>
consteval Converters converters() {
  return {{load<R, double>, load<R, float>, load<R, f16>, load<R, bf16>, load<R, int64_t>, load<R, int32_t>,
           load<R, int8_t>, load<R, uint8_t>},
          {store<R, double>, store<R, float>, store<R, f16>, store<R, bf16>, store<R, int64_t>, store<R, int32_t>,
           store<R, int8_t>, store<R, uint8_t>}};
}

}  // namespace

constinit const Converters convert_f32 = converters<float>();
constinit const Converters convert_f64 = converters<double>();

}  // namespace neon::elementwise::NEON_LEVEL
