#include "backends/cpu/amx_tiles.h"

// GCC 12 takes what its own header leaves undefined on purpose for a mistake.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#include <immintrin.h>

#include <algorithm>
#include <atomic>

#include "backends/cpu/amx_parts.h"

namespace neon::cpu {

namespace {

#define NEON_VECTORS [[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")]]
#define NEON_INLINE [[gnu::always_inline, gnu::target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")]] inline
#define NEON_TILES [[gnu::target("amx-tile,amx-bf16")]]

// 16 vectors of 32 numbers of bf16: the lines of a tile, of each term.
template <int kCount>
struct Lines {
  __m512i of[kCount][kTileRows];
};

NEON_INLINE __mmask16 lanes_of(int64_t n) {
  return n >= kTileRows ? __mmask16(0xffff) : __mmask16((1u << std::max<int64_t>(n, 0)) - 1);
}

// The lanes where a number's terms do not give it, though it is no NaN.
NEON_INLINE __mmask16 lost(__m512 x, __m512 rest) {
  return _mm512_mask_cmp_ps_mask(_mm512_cmp_ps_mask(x, x, _CMP_ORD_Q), rest, rest, _CMP_UNORD_Q);
}
NEON_INLINE __m512i narrowed(__m512 x) { return _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(x)); }

// Columns of two rows, in pairs.
template <int kCount>
NEON_INLINE bool line_of_pairs(const float* even, const float* odd, __mmask16 mask, Lines<kCount>& lines,
                               int64_t line) {
  const __m512 x = even ? _mm512_maskz_loadu_ps(mask, even) : _mm512_setzero_ps(),
               y = odd ? _mm512_maskz_loadu_ps(mask, odd) : _mm512_setzero_ps();
  __m512 of_x = x, of_y = y;
  for (int term = 0; term < kCount; ++term) {
    const __m512i low = narrowed(of_x), high = _mm512_slli_epi32(narrowed(of_y), 16);
    lines.of[term][line] = _mm512_or_si512(low, high);
    of_x = _mm512_sub_ps(of_x, _mm512_castsi512_ps(_mm512_slli_epi32(low, 16)));
    of_y = _mm512_sub_ps(of_y, _mm512_castsi512_ps(high));
  }
  return kCount == 1 || (lost(x, of_x) | lost(y, of_y)) == 0;
}
NEON_INLINE bool line_of_pairs(const bf16* even, const bf16* odd, __mmask16 mask, Lines<1>& lines, int64_t line) {
  const __m256i none = _mm256_setzero_si256(), x = even ? _mm256_maskz_loadu_epi16(mask, even) : none,
                y = odd ? _mm256_maskz_loadu_epi16(mask, odd) : none;
  lines.of[0][line] = _mm512_or_si512(_mm512_cvtepu16_epi32(x), _mm512_slli_epi32(_mm512_cvtepu16_epi32(y), 16));
  return true;
}

// 32 columns of a row.
template <int kCount>
NEON_INLINE bool line_of_row(const float* from, int64_t n, Lines<kCount>& lines, int64_t line) {
  const __m512 x = _mm512_maskz_loadu_ps(lanes_of(n), from), y = _mm512_maskz_loadu_ps(lanes_of(n - 16), from + 16);
  __m512 of_x = x, of_y = y;
  for (int term = 0; term < kCount; ++term) {
    const __m512i both = (__m512i)_mm512_cvtne2ps_pbh(of_y, of_x);
    lines.of[term][line] = both;
    const __m512i low = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(both)),
                  high = _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(both, 1));
    of_x = _mm512_sub_ps(of_x, _mm512_castsi512_ps(_mm512_slli_epi32(low, 16)));
    of_y = _mm512_sub_ps(of_y, _mm512_castsi512_ps(_mm512_slli_epi32(high, 16)));
  }
  return kCount == 1 || (lost(x, of_x) | lost(y, of_y)) == 0;
}
NEON_INLINE bool line_of_row(const bf16* from, int64_t n, Lines<1>& lines, int64_t line) {
  const __mmask32 mask = n >= kTileDepth ? ~__mmask32(0) : (__mmask32(1) << std::max<int64_t>(n, 0)) - 1;
  lines.of[0][line] = _mm512_maskz_loadu_epi16(mask, from);
  return true;
}

template <int kCount>
NEON_INLINE void store_tiles(Lines<kCount>& lines, bool turned, bf16* to, int64_t term) {
  for (int64_t t = 0; t < kCount; ++t) {
    if (turned) turn(lines.of[t]);
    for (int64_t i = 0; i < kTileRows; ++i) _mm512_storeu_si512(to + t * term + i * kTileDepth, lines.of[t][i]);
  }
}

template <int kCount, typename T>
NEON_INLINE bool make_of_rows(const TilePart<T>& part, bool turned, bf16* to, int64_t term) {
  Lines<kCount> lines;
  bool told = true;
  for (int64_t i = 0; i < kTileRows; ++i)
    if (i < part.rows) told &= line_of_row(part.from + i * part.stride, part.columns, lines, i);
    else
      for (auto& of_term : lines.of) of_term[i] = _mm512_setzero_si512();
  store_tiles(lines, turned, to, term);
  return told;
}

template <int kCount, typename T>
NEON_INLINE bool make_of_columns(const TilePart<T>& part, bool turned, bf16* to, int64_t term) {
  Lines<kCount> lines;
  const __mmask16 mask = lanes_of(part.columns);
  bool told = true;
  for (int64_t i = 0; i < kTileRows; ++i) {
    const T* const even = part.from + 2 * i * part.stride;
    told &= line_of_pairs(2 * i < part.rows ? even : nullptr, 2 * i + 1 < part.rows ? even + part.stride : nullptr,
                          mask, lines, i);
  }
  store_tiles(lines, turned, to, term);
  return told;
}

// Registers 0 to 3 hold the sums, 4 and 5 tiles of a, 6 and 7 of b.
constexpr int64_t kLine = kTileDepth * int64_t(sizeof(bf16));
template <int kM, int kK>
NEON_TILES inline void multiply() {
  _tile_dpbf16ps(0, 4, 6);
  if constexpr (kK > 1) _tile_dpbf16ps(1, 4, 7);
  if constexpr (kM > 1) _tile_dpbf16ps(2, 5, 6);
  if constexpr (kM > 1 && kK > 1) _tile_dpbf16ps(3, 5, 7);
}
template <int kM>
NEON_TILES inline void load_a(const bf16* a) {
  _tile_loadd(4, a, kLine);
  if constexpr (kM > 1) _tile_loadd(5, a + kTile, kLine);
}
template <int kK>
NEON_TILES inline void load_b(const bf16* b) {
  _tile_loadd(6, b, kLine);
  if constexpr (kK > 1) _tile_loadd(7, b + kTile, kLine);
}

template <int kM, int kK>
NEON_TILES void add_products(const TermProducts& p) {
  const SumTiles<kM, kK> sums{p.sums, kTileRows * p.line, kTileRows, p.line};
  p.anew ? sums.zero() : sums.load();
  constexpr int64_t kTwo = 2 * kTile;
  const bf16 *a = p.a, *b = p.b;
  if (p.terms == 1)
    for (int64_t step = 0; step < p.steps; ++step, a += kTwo, b += kTwo) {
      load_a<kM>(a), load_b<kK>(b), multiply<kM, kK>();
    }
  else  // the small ones first, and one factor new each time
    for (int64_t step = 0; step < p.steps; ++step, a += 3 * kTwo, b += 3 * kTwo) {
      load_a<kM>(a + 2 * kTwo), load_b<kK>(b), multiply<kM, kK>();
      load_a<kM>(a + kTwo), multiply<kM, kK>();
      load_b<kK>(b + kTwo), multiply<kM, kK>();
      load_a<kM>(a), multiply<kM, kK>();
      load_b<kK>(b + 2 * kTwo), multiply<kM, kK>();
      load_b<kK>(b), multiply<kM, kK>();
    }
  sums.store();
}

}  // namespace

NEON_VECTORS bool tile_of_rows(const TilePart<float>& part, bool turned, bf16* to, int64_t term, int64_t terms) {
  return terms == 1 ? make_of_rows<1>(part, turned, to, term) : make_of_rows<3>(part, turned, to, term);
}
NEON_VECTORS bool tile_of_rows(const TilePart<bf16>& part, bool turned, bf16* to, int64_t term, int64_t) {
  return make_of_rows<1>(part, turned, to, term);
}
NEON_VECTORS bool tile_of_columns(const TilePart<float>& part, bool turned, bf16* to, int64_t term, int64_t terms) {
  return terms == 1 ? make_of_columns<1>(part, turned, to, term) : make_of_columns<3>(part, turned, to, term);
}
NEON_VECTORS bool tile_of_columns(const TilePart<bf16>& part, bool turned, bf16* to, int64_t term, int64_t) {
  return make_of_columns<1>(part, turned, to, term);
}

namespace {

NEON_INLINE void put(__m512 x, __mmask16 mask, float* to) { _mm512_mask_storeu_ps(to, mask, x); }
NEON_INLINE void put(__m512 x, __mmask16 mask, bf16* to) {
  _mm256_mask_storeu_epi16(to, mask, (__m256i)_mm512_cvtneps_pbh(x));
}

template <typename T>
NEON_INLINE void put_sums(const FinishedSums& p, T* to) {
  const __m512 none = _mm512_setzero_ps();
  for (int64_t j = 0; j < p.columns; j += kTileRows) {
    const __mmask16 mask = lanes_of(p.columns - j);
    const __m512 bias = p.bias ? _mm512_maskz_loadu_ps(mask, p.bias + j) : none;
    for (int64_t i = 0; i < p.rows; ++i) {
      __m512 x = _mm512_loadu_ps(p.sums + i * p.line + j);
      if (p.bias) x = _mm512_add_ps(x, bias);
      if (p.relu) x = _mm512_mask_mov_ps(x, _mm512_cmp_ps_mask(x, none, _CMP_LE_OQ), none);  // NaN stays
      put(x, mask, to + i * p.step + j);
    }
  }
}

}  // namespace

NEON_VECTORS void finish_sums(const FinishedSums& sums, float* to) { put_sums(sums, to); }
NEON_VECTORS void finish_sums(const FinishedSums& sums, bf16* to) { put_sums(sums, to); }

void accumulate_terms(const TermProducts& products, int64_t m_tiles, int64_t k_tiles) {
  // The compiler does not know what the tiles read.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (m_tiles > 1) k_tiles > 1 ? add_products<2, 2>(products) : add_products<2, 1>(products);
  else k_tiles > 1 ? add_products<1, 2>(products) : add_products<1, 1>(products);
}

}  // namespace neon::cpu

#undef NEON_VECTORS
#undef NEON_INLINE
#undef NEON_TILES
#pragma GCC diagnostic pop
