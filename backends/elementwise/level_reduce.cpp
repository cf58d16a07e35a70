// Sums, extremes and their places over a block, in an order that no instruction set changes.
#include "backends/elementwise/level.h"

namespace neon::elementwise::NEON_LEVEL {
namespace {

constexpr int kLanes = 16;

template <typename R>
struct Sum {
  static constexpr R start = 0;
  template <typename V>
  [[gnu::always_inline]] static V join(V a, V b) {
    return a + b;
  }
};
// These two pass over NaN.
template <typename R>
struct Maximum {
  static constexpr R start = -R(__builtin_huge_val());
  template <typename V>
  [[gnu::always_inline]] static V join(V a, V b) {
    return b > a ? b : a;
  }
};
template <typename R>
struct Minimum {
  static constexpr R start = R(__builtin_huge_val());
  template <typename V>
  [[gnu::always_inline]] static V join(V a, V b) {
    return b < a ? b : a;
  }
};

// Each lane joins 256 of so many numbers. Longer sums would drift: sums of ten million in f32 by a hundredth.
constexpr int64_t kInARow = 256 * kLanes;

template <typename R, typename Op>
R reduce_in_a_row(const R* x, int64_t n) {
  // In vectors of 16 bytes, which every level has: from arrays, GCC makes no vector code of the selects.
  typedef R Vector __attribute__((vector_size(16), aligned(sizeof(R)), may_alias));
  constexpr int kWidth = 16 / sizeof(R), kVectors = kLanes / kWidth;
  Vector lanes[kVectors];
  for (Vector& lane : lanes) lane = Op::start - Vector{};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int v = 0; v < kVectors; ++v)
      lanes[v] = Op::join(lanes[v], *reinterpret_cast<const Vector*>(x + i + v * kWidth));
  R last[kLanes];
  for (int l = 0; l < kLanes; ++l) last[l] = lanes[l / kWidth][l % kWidth];
  for (int l = 0; i + l < n; ++l) last[l] = Op::join(last[l], x[i + l]);
  for (int width = kLanes / 2; width > 0; width /= 2)
    for (int l = 0; l < width; ++l) last[l] = Op::join(last[l], last[l + width]);
  return last[0];
}

// In halves of powers of two, so that zeros behind the numbers change no bit of their sum.
template <typename R, typename Op>
R reduce(const R* x, int64_t n) {
  if (n <= kInARow) return reduce_in_a_row<R, Op>(x, n);
  int64_t half = kInARow;
  while (2 * half < n) half *= 2;
  return Op::join(reduce<R, Op>(x, half), reduce<R, Op>(x + half, n - half));
}

template <typename R>
bool any_nan(const R* x, int64_t n) {
  int32_t found = 0;
  for (int64_t i = 0; i < n; ++i) found |= x[i] != x[i];
  return found != 0;
}

template <typename R, typename Op>
R extreme(const R* x, int64_t n) {
  return any_nan(x, n) ? R(__builtin_nan("")) : reduce<R, Op>(x, n);
}

// When the extreme is NaN, no element equals it, and the first NaN is meant.
template <typename R, typename Op>
int64_t place(const R* x, int64_t n) {
  const R best = extreme<R, Op>(x, n);
  int32_t first = int32_t(n);
  for (int32_t i = 0; i < int32_t(n); ++i) {
    const int32_t here = (x[i] == best) | (x[i] != x[i]) ? i : int32_t(n);
    first = here < first ? here : first;
  }
  return first;
}

template <typename R>
consteval Reductions<R> reductions() {
  return {reduce<R, Sum<R>>, extreme<R, Maximum<R>>, extreme<R, Minimum<R>>, place<R, Maximum<R>>,
          place<R, Minimum<R>>};
}

}  // namespace

constinit const Reductions<float> reduce_f32 = reductions<float>();
constinit const Reductions<double> reduce_f64 = reductions<double>();

}  // namespace neon::elementwise::NEON_LEVEL
