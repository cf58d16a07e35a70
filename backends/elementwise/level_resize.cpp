// Images brought to another size. Sums are of whole numbers, so all levels give the same bytes.
#include <immintrin.h>  // of its functions, which are all inlined, those of the level

#include "backends/elementwise/level.h"

namespace neon::elementwise::NEON_LEVEL {
namespace {

#define NEON_INLINE [[gnu::always_inline]] inline

// Four values a lane of 16 bytes.
#ifdef __AVX2__
typedef __m256i Lanes;
NEON_INLINE Lanes load(const void* from) { return _mm256_loadu_si256(static_cast<const Lanes*>(from)); }
NEON_INLINE Lanes bytes_of(const uint8_t* line, const int32_t* first) {
  const __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i*>(line + first[0])),
                high = _mm_loadu_si128(reinterpret_cast<const __m128i*>(line + first[1]));
  return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}
NEON_INLINE void add_products(Lanes& sum, Lanes bytes, Lanes places, Lanes weights) {
  sum = _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_shuffle_epi8(bytes, places), weights));
}
NEON_INLINE Lanes all(int32_t value) { return _mm256_set1_epi32(value); }
NEON_INLINE Lanes shifted(Lanes sum) { return _mm256_srai_epi32(sum, kResizeShift); }
NEON_INLINE void put(const Lanes* sums, int16_t* to) {
  _mm256_storeu_si256(reinterpret_cast<Lanes*>(to), _mm256_packs_epi32(shifted(sums[0]), shifted(sums[1])));
}
#else
typedef __m128i Lanes;
NEON_INLINE Lanes load(const void* from) { return _mm_loadu_si128(static_cast<const Lanes*>(from)); }
NEON_INLINE Lanes bytes_of(const uint8_t* line, const int32_t* first) { return load(line + *first); }
NEON_INLINE void add_products(Lanes& sum, Lanes bytes, Lanes places, Lanes weights) {
  sum = _mm_add_epi32(sum, _mm_madd_epi16(_mm_shuffle_epi8(bytes, places), weights));
}
NEON_INLINE Lanes all(int32_t value) { return _mm_set1_epi32(value); }
NEON_INLINE Lanes shifted(Lanes sum) { return _mm_srai_epi32(sum, kResizeShift); }
NEON_INLINE void put(const Lanes* sums, int16_t* to) {
  _mm_storeu_si128(reinterpret_cast<Lanes*>(to), _mm_packs_epi32(shifted(sums[0]), shifted(sums[1])));
}
#endif
constexpr int kLanes = sizeof(Lanes) / 16;
// Fours are stored by pairs, of which this many make the sixteen.
constexpr int kPairs = 2 / kLanes;

// Sums of several lines at once: loading a window takes as many loads as loading a line.
typedef Lanes Sums[kResizeLines][2];

NEON_INLINE void add_window(const LineWindow& window, int pair, const uint8_t* const* lines, Sums& sums) {
  for (int s = 0; s < 2; ++s) {
    const int four = (pair + s * kPairs) * kLanes;
    Lanes bytes[kResizeLines];
    for (int line = 0; line < kResizeLines; ++line) bytes[line] = bytes_of(lines[line], window.first + four);
    for (int part = 0; part < 2; ++part) {
      const Lanes places = load(window.places[part][four]), weights = load(window.weights[part][four]);
      for (int line = 0; line < kResizeLines; ++line) add_products(sums[line][s], bytes[line], places, weights);
    }
  }
}

void along(const LineWindow* window, int64_t sixteens, const uint8_t* const* lines, int16_t* const* to) {
  for (int64_t i = 0; i < sixteens; ++i) {
    const LineWindow* at = window;
    for (int pair = 0; pair < kPairs; ++pair) {
      Sums sums;
      for (auto& line : sums)
        for (Lanes& sum : line) sum = all(1 << (kResizeShift - 1));
      at = window;
      add_window(*at, pair, lines, sums);  // the only one of scales up to 2, which a decoder leaves
      while (!at->last) add_window(*++at, pair, lines, sums);
      for (int line = 0; line < kResizeLines; ++line) put(sums[line], to[line] + 16 * i + 8 * pair);
    }
    window = at + 1;
  }
}

constexpr int16_t kHalf = 1 << (kResizeBits - 1);
// The upper half of 2 x y, rounded: an instruction of every level.
NEON_INLINE int16_t product(int16_t x, int16_t y) { return int16_t(((int32_t(x) * y >> 14) + 1) >> 1); }

NEON_INLINE uint8_t byte_of(int16_t sum) {
  sum >>= kResizeBits;
  return uint8_t(sum > 255 ? 255 : sum);
}

template <int kLines>
NEON_INLINE void sum_some_lines(const int16_t* const* lines, const int16_t* weights, int64_t n,
                                uint8_t* __restrict to) {
  const int16_t* from[kLines];
  int16_t weight[kLines];
  for (int k = 0; k < kLines; ++k) from[k] = lines[k], weight[k] = weights[k];
  for (int64_t j = 0; j < n; ++j) {
    int16_t sum = kHalf;
    for (int k = 0; k < kLines; ++k) sum = int16_t(sum + product(from[k][j], weight[k]));
    to[j] = byte_of(sum);
  }
}

// Sums in 32 bits: where a line counts for little, its product rounded to 16 bits may be nothing.
void sum_many_lines(const int16_t* const* lines, const int16_t* weights, int64_t count, int64_t n, uint8_t* to) {
  constexpr int kShift = 15 + kResizeBits;
  constexpr int64_t kAtOnce = 64;
  for (int64_t begin = 0; begin < n; begin += kAtOnce) {
    const int64_t part = n - begin < kAtOnce ? n - begin : kAtOnce;
    int32_t sums[kAtOnce];
    for (int64_t j = 0; j < part; ++j) sums[j] = 1 << (kShift - 1);
    for (int64_t k = 0; k < count; ++k)
      for (int64_t j = 0; j < part; ++j) sums[j] += int32_t(lines[k][begin + j]) * weights[k];
    for (int64_t j = 0; j < part; ++j) to[begin + j] = uint8_t(sums[j] >> kShift);
  }
}

void sum_lines(const int16_t* const* lines, const int16_t* weights, int64_t count, int64_t n, uint8_t* to) {
  if (count == 3) return sum_some_lines<3>(lines, weights, n, to);  // scales up to 1.5
  if (count == 4) return sum_some_lines<4>(lines, weights, n, to);  // up to 2, which a decoder leaves
  return sum_many_lines(lines, weights, count, n, to);
}

}  // namespace

constinit const Resizing resizing = {along, sum_lines};

}  // namespace neon::elementwise::NEON_LEVEL
