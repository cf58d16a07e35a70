// Images brought to another size. Sums are made in the order of their parts, so all levels give the same bytes.
#include <emmintrin.h>  // of every x86-64

#include "backends/elementwise/level.h"

namespace neon::elementwise::NEON_LEVEL {
namespace {

#define NEON_INLINE [[gnu::always_inline]] inline

// sums = (or +=) weighted lines of n bytes, `stride` apart.
template <int kLines, bool kFirst>
NEON_INLINE void add_lines(const uint8_t* __restrict from, int64_t stride, const float* weights, int64_t n,
                           float* __restrict sums) {
  for (int64_t j = 0; j < n; ++j) {
    float sum = kFirst ? 0 : sums[j];
    for (int k = 0; k < kLines; ++k) sum += weights[k] * float(from[k * stride + j]);
    sums[j] = sum;
  }
}

template <bool kFirst>
NEON_INLINE void add_some_lines(const uint8_t* from, int64_t stride, const float* weights, int64_t count, int64_t n,
                                float* sums) {
  if (count >= 4) add_lines<4, kFirst>(from, stride, weights, n, sums);
  if (count == 3) add_lines<3, kFirst>(from, stride, weights, n, sums);
  if (count == 2) add_lines<2, kFirst>(from, stride, weights, n, sums);
  if (count == 1) add_lines<1, kFirst>(from, stride, weights, n, sums);
}

void sum_lines(const uint8_t* from, int64_t stride, const float* weights, int64_t count, int64_t n, float* sums) {
  add_some_lines<true>(from, stride, weights, count, n, sums);
  for (count -= 4; count > 0; count -= 4) {
    from += 4 * stride, weights += 4;
    add_some_lines<false>(from, stride, weights, count, n, sums);
  }
}

typedef float Eight __attribute__((vector_size(32), aligned(4), may_alias));

// Where the pixel of kChannels is written that has so many bytes left in its line: as four bytes if it has as many, and
// those after it take what is too many.
template <int kChannels>
NEON_INLINE void put_pixel(uint8_t* to, uint32_t bytes, int64_t left) {
  __builtin_memcpy(to, &bytes, left >= 4 ? 4 : kChannels);
}

template <int kChannels>
NEON_INLINE void add_along(const int64_t* first, int64_t places, int64_t count, const float* weights, const float* line,
                           uint8_t* to) {
  for (int64_t i = 0; i < places; i += 2, weights += 8 * count, to += 2 * kChannels) {
    const bool one = i + 1 == places;
    const float *a = line + first[i] * kChannels, *b = line + first[one ? i : i + 1] * kChannels;
    Eight sum{};
    for (int64_t k = 0; k < count; ++k) {
      const __m128 left = _mm_loadu_ps(a + k * kChannels), right = _mm_loadu_ps(b + k * kChannels);
      const Eight weight = *reinterpret_cast<const Eight*>(weights + 8 * k);
      sum += weight * __builtin_shufflevector(left, right, 0, 1, 2, 3, 4, 5, 6, 7);
    }
    sum += 0.5f;
    const __m128i left = _mm_cvttps_epi32(__builtin_shufflevector(sum, sum, 0, 1, 2, 3)),
                  right = _mm_cvttps_epi32(__builtin_shufflevector(sum, sum, 4, 5, 6, 7)),
                  words = _mm_packs_epi32(left, right);
    const auto bytes = uint64_t(_mm_cvtsi128_si64(_mm_packus_epi16(words, words)));
    put_pixel<kChannels>(to, uint32_t(bytes), (places - i) * kChannels);
    if (!one) put_pixel<kChannels>(to + kChannels, uint32_t(bytes >> 32), (places - i - 1) * kChannels);
  }
}

// The counts of scales below 1.5 and 2, which a decoder leaves, as constants.
template <int kChannels>
NEON_INLINE void add_along_some(const int64_t* first, int64_t places, int64_t count, const float* weights,
                                const float* line, uint8_t* to) {
  if (count == 3) add_along<kChannels>(first, places, 3, weights, line, to);
  else if (count == 4) add_along<kChannels>(first, places, 4, weights, line, to);
  else add_along<kChannels>(first, places, count, weights, line, to);
}

void across(const int64_t* first, int64_t places, int64_t count, const float* weights, const float* line,
            int64_t channels, uint8_t* to) {
  if (channels == 3) add_along_some<3>(first, places, count, weights, line, to);
  else add_along_some<1>(first, places, count, weights, line, to);
}

}  // namespace

constinit const Resizing resizing = {sum_lines, across};

}  // namespace neon::elementwise::NEON_LEVEL
