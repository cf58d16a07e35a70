// Products of signs as bits: a word has 64 of a row, set where a number is below 0, and two rows of n signs have the
// product n - 2 d, where d counts the bits in which they differ. Lanes are neighbouring columns, so that nothing is
// added across lanes. Compiled a second time for processors that count the bits of eight words at once.
#include <immintrin.h>  // of its functions, which are all inlined, those of the level

#include "backends/elementwise/level.h"

namespace neon::elementwise::NEON_LEVEL {
namespace {

#define NEON_INLINE [[gnu::always_inline]] inline

// How a level counts: kRows rows by kVectors vectors of columns at once; after kWords words partial counts are added
// up.
#if defined __AVX512VPOPCNTDQ__
typedef __m512i Vector;
constexpr int kRows = 8, kVectors = 2, kWords = 1 << 20;
NEON_INLINE Vector counted(Vector words) { return _mm512_popcnt_epi64(words); }
NEON_INLINE Vector joined(Vector counts) { return counts; }
NEON_INLINE Vector add(Vector a, Vector b) { return _mm512_add_epi64(a, b); }
NEON_INLINE Vector add_parts(Vector a, Vector b) { return _mm512_add_epi64(a, b); }
#elif defined __AVX512F__
typedef __m512i Vector;
constexpr int kRows = 8, kVectors = 2, kWords = 31;
// Bits of each byte, at most 8: a byte holds the sum of 31 words.
NEON_INLINE Vector counted(Vector words) {
  const Vector table = _mm512_set4_epi32(0x04030302, 0x03020201, 0x03020201, 0x02010100);  // of the numbers 0 to 15
  const Vector half = _mm512_set1_epi8(15);
  const Vector low = _mm512_and_si512(words, half), high = _mm512_and_si512(_mm512_srli_epi16(words, 4), half);
  return _mm512_add_epi8(_mm512_shuffle_epi8(table, low), _mm512_shuffle_epi8(table, high));
}
NEON_INLINE Vector joined(Vector counts) { return _mm512_sad_epu8(counts, _mm512_setzero_si512()); }
NEON_INLINE Vector add(Vector a, Vector b) { return _mm512_add_epi64(a, b); }
NEON_INLINE Vector add_parts(Vector a, Vector b) { return _mm512_add_epi8(a, b); }
#elif defined __AVX2__
typedef __m256i Vector;
constexpr int kRows = 4, kVectors = 2, kWords = 31;
NEON_INLINE Vector counted(Vector words) {
  const Vector table = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
  const Vector half = _mm256_set1_epi8(15);
  const Vector low = _mm256_and_si256(words, half), high = _mm256_and_si256(_mm256_srli_epi16(words, 4), half);
  return _mm256_add_epi8(_mm256_shuffle_epi8(table, low), _mm256_shuffle_epi8(table, high));
}
NEON_INLINE Vector joined(Vector counts) { return _mm256_sad_epu8(counts, _mm256_setzero_si256()); }
NEON_INLINE Vector add(Vector a, Vector b) { return _mm256_add_epi64(a, b); }
NEON_INLINE Vector add_parts(Vector a, Vector b) { return _mm256_add_epi8(a, b); }
#else
typedef uint64_t Vector;
constexpr int kRows = 2, kVectors = 2, kWords = 1 << 20;
NEON_INLINE Vector counted(Vector words) { return Vector(__builtin_popcountll(words)); }
NEON_INLINE Vector joined(Vector counts) { return counts; }
NEON_INLINE Vector add(Vector a, Vector b) { return a + b; }
NEON_INLINE Vector add_parts(Vector a, Vector b) { return a + b; }
#endif
constexpr int kLanes = sizeof(Vector) / sizeof(uint64_t), kColumns = kLanes * kVectors;
static_assert(kSignColumns % kColumns == 0);

#if defined __AVX512F__
NEON_INLINE Vector differing(uint64_t row, Vector columns) {
  return _mm512_xor_si512(_mm512_set1_epi64(int64_t(row)), columns);
}
NEON_INLINE Vector loaded(const uint64_t* words) { return _mm512_loadu_si512(words); }
NEON_INLINE Vector zero() { return _mm512_setzero_si512(); }
NEON_INLINE void unloaded(Vector v, uint64_t* to) { _mm512_storeu_si512(to, v); }
#elif defined __AVX2__
NEON_INLINE Vector differing(uint64_t row, Vector columns) {
  return _mm256_xor_si256(_mm256_set1_epi64x(int64_t(row)), columns);
}
NEON_INLINE Vector loaded(const uint64_t* words) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(words));
}
NEON_INLINE Vector zero() { return _mm256_setzero_si256(); }
NEON_INLINE void unloaded(Vector v, uint64_t* to) { _mm256_storeu_si256(reinterpret_cast<__m256i_u*>(to), v); }
#else
NEON_INLINE Vector differing(uint64_t row, Vector columns) { return row ^ columns; }
NEON_INLINE Vector loaded(const uint64_t* words) { return *words; }
NEON_INLINE Vector zero() { return 0; }
NEON_INLINE void unloaded(Vector v, uint64_t* to) { *to = v; }
#endif

// R rows of a, kColumns columns of b.
template <int R>
NEON_INLINE void tile(const SignProduct& p, const uint64_t* a, const uint64_t* b, float* c) {
  Vector counts[R][kVectors];
  for (int i = 0; i < R; ++i)
    for (int v = 0; v < kVectors; ++v) counts[i][v] = zero();
  for (int64_t first = 0; first < p.words; first += kWords) {
    const int64_t end = p.words - first < kWords ? p.words : first + kWords;
    Vector parts[R][kVectors];
    for (int i = 0; i < R; ++i)
      for (int v = 0; v < kVectors; ++v) parts[i][v] = zero();
    for (int64_t k = first; k < end; ++k) {
      Vector columns[kVectors];
      for (int v = 0; v < kVectors; ++v) columns[v] = loaded(b + k * kSignColumns + v * kLanes);
      for (int i = 0; i < R; ++i)
        for (int v = 0; v < kVectors; ++v)
          parts[i][v] = add_parts(parts[i][v], counted(differing(a[i * p.words + k], columns[v])));
    }
    for (int i = 0; i < R; ++i)
      for (int v = 0; v < kVectors; ++v) counts[i][v] = add(counts[i][v], joined(parts[i][v]));
  }
  for (int i = 0; i < R; ++i) {
    uint64_t line[kColumns];
    for (int v = 0; v < kVectors; ++v) unloaded(counts[i][v], line + v * kLanes);
    for (int j = 0; j < kColumns; ++j) c[i * p.c_row + j] = float(int32_t(p.length - 2 * int64_t(line[j])));
  }
}

void multiply(const SignProduct& p, const uint64_t* a, const uint64_t* b, float* c) {
  int64_t i = 0;
  for (; i + kRows <= p.rows; i += kRows)
    for (int j = 0; j < kSignColumns; j += kColumns) tile<kRows>(p, a + i * p.words, b + j, c + i * p.c_row + j);
  for (; i < p.rows; ++i)
    for (int j = 0; j < kSignColumns; j += kColumns) tile<1>(p, a + i * p.words, b + j, c + i * p.c_row + j);
}

// Bits of 64 numbers; the others' are 0.
struct Bits {
  uint64_t below = 0, nan = 0;
};

NEON_INLINE Bits some_bits(const float* x, int64_t n) {
  Bits out;
  for (int64_t i = 0; i < n; ++i) out.below |= uint64_t(x[i] < 0) << i, out.nan |= uint64_t(x[i] != x[i]) << i;
  return out;
}

NEON_INLINE Bits all_bits(const float* x) {
  Bits out;
#if defined __AVX512F__
  for (int i = 0; i < 64; i += 16) {
    const __m512 v = _mm512_loadu_ps(x + i);
    out.below |= uint64_t(_mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_LT_OQ)) << i;
    out.nan |= uint64_t(_mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q)) << i;
  }
#elif defined __AVX2__
  for (int i = 0; i < 64; i += 8) {
    const __m256 v = _mm256_loadu_ps(x + i);
    out.below |= uint64_t(unsigned(_mm256_movemask_ps(_mm256_cmp_ps(v, _mm256_setzero_ps(), _CMP_LT_OQ)))) << i;
    out.nan |= uint64_t(unsigned(_mm256_movemask_ps(_mm256_cmp_ps(v, v, _CMP_UNORD_Q)))) << i;
  }
#else
  for (int i = 0; i < 64; i += 4) {
    const __m128 v = _mm_loadu_ps(x + i);
    out.below |= uint64_t(unsigned(_mm_movemask_ps(_mm_cmplt_ps(v, _mm_setzero_ps())))) << i;
    out.nan |= uint64_t(unsigned(_mm_movemask_ps(_mm_cmpunord_ps(v, v)))) << i;
  }
#endif
  return out;
}

bool pack(const float* x, int64_t n, uint64_t* words, int64_t step) {
  uint64_t nan = 0;
  for (int64_t i = 0; i < n; i += 64) {
    const Bits bits = n - i < 64 ? some_bits(x + i, n - i) : all_bits(x + i);
    *words = bits.below, words += step, nan |= bits.nan;
  }
  return nan != 0;
}

}  // namespace

#if defined __AVX512VPOPCNTDQ__
extern const Signs signs_counted = {pack, multiply};
#else
extern const Signs signs = {pack, multiply};
#endif

}  // namespace neon::elementwise::NEON_LEVEL
