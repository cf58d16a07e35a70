// Sums of the numbers of several ranks, in the order of ranks; numbers of 16 bits in f32.
#pragma once
#include <algorithm>
#include <span>
#include <type_traits>

#include "backends/ranks.h"
#include "neon/core/error.h"

namespace neon {

template <typename T>
using SumOf = std::conditional_t<sizeof(T) == 2, float, T>;

inline float wide_number(f16 x) { return to_float(x); }
inline float wide_number(bf16 x) { return to_float(x); }
inline float wide_number(float x) { return x; }
inline double wide_number(double x) { return x; }

inline void put_number(float x, f16& to) { to = to_f16(x); }
inline void put_number(float x, bf16& to) { to = to_bf16(x); }
inline void put_number(float x, float& to) { to = x; }
inline void put_number(double x, double& to) { to = x; }

// The sums of parts[0], parts[1] ... of n elements each; `to` may be one of them.
template <typename T>
void add_ranks(const T* const* parts, int ranks, int64_t n, T* to) {
  if constexpr (std::is_same_v<T, SumOf<T>>)
    if (ranks == 2) {
      const T *const a = parts[0], *const b = parts[1];
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) to[i] = a[i] + b[i];
      return;
    }
  constexpr int64_t kBlock = 1024;
  SumOf<T> total[kBlock];
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t count = std::min(kBlock, n - begin);
    for (int64_t i = 0; i < count; ++i) total[i] = wide_number(parts[0][begin + i]);
    for (int k = 1; k < ranks; ++k)
      for (int64_t i = 0; i < count; ++i) total[i] += wide_number(parts[k][begin + i]);
    for (int64_t i = 0; i < count; ++i) put_number(total[i], to[begin + i]);
  }
}

// Calls sum.operator()<T>() for the C++ type of the numbers. Throws a failed error for types that ranks do not add up.
void sum_in_type(DType dtype, auto&& sum) {
  if (!is_floating(dtype)) fail(ErrorKind::failed, "ranks exchange no ", dtype);
  dispatch(dtype, [&]<typename T>() {
    if constexpr (!std::is_integral_v<T>) sum.template operator()<T>();
  });
}

// The elements of arrays one behind the other, some at a time.
class Places {
 public:
  explicit Places(std::span<const Summand> arrays) : arrays_(arrays) {}
  // Calls visit(array, its first element, where in the part, elements) for the next `most` elements. Returns how many
  // there were.
  template <typename Visit>
  int64_t next(int64_t most, Visit&& visit) {
    int64_t taken = 0;
    while (taken < most && array_ < arrays_.size()) {
      const int64_t n = std::min(most - taken, arrays_[array_].elements - element_);
      visit(arrays_[array_], element_, taken, n);
      taken += n, element_ += n;
      if (element_ == arrays_[array_].elements) ++array_, element_ = 0;
    }
    return taken;
  }

 private:
  std::span<const Summand> arrays_;
  size_t array_ = 0;
  int64_t element_ = 0;
};

}  // namespace neon
