// Transposing, and the sums of a product: both layouts of tiles need them (amx.cpp, amx_tiles.cpp).
#pragma once
// GCC 12 takes what its own header leaves undefined on purpose for a mistake.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#include <immintrin.h>

#include <cstdint>

namespace neon::cpu {

// Transposes 16 x 16 numbers of 32 bits: of four rows each quarter, then of the quarters.
[[gnu::always_inline, gnu::target("avx512f")]] inline void turn(__m512i (&v)[16]) {
  __m512i t[16];
  for (int i = 0; i < 16; i += 4) {
    const __m512i a = _mm512_unpacklo_epi32(v[i], v[i + 1]), b = _mm512_unpackhi_epi32(v[i], v[i + 1]),
                  c = _mm512_unpacklo_epi32(v[i + 2], v[i + 3]), d = _mm512_unpackhi_epi32(v[i + 2], v[i + 3]);
    t[i] = _mm512_unpacklo_epi64(a, c);
    t[i + 1] = _mm512_unpackhi_epi64(a, c);
    t[i + 2] = _mm512_unpacklo_epi64(b, d);
    t[i + 3] = _mm512_unpackhi_epi64(b, d);
  }
  for (int i = 0; i < 4; ++i) {
    const __m512i a = _mm512_shuffle_i32x4(t[i], t[i + 4], 0x88), b = _mm512_shuffle_i32x4(t[i + 8], t[i + 12], 0x88),
                  c = _mm512_shuffle_i32x4(t[i], t[i + 4], 0xdd), d = _mm512_shuffle_i32x4(t[i + 8], t[i + 12], 0xdd);
    v[i] = _mm512_shuffle_i32x4(a, b, 0x88);
    v[i + 8] = _mm512_shuffle_i32x4(a, b, 0xdd);
    v[i + 4] = _mm512_shuffle_i32x4(c, d, 0x88);
    v[i + 12] = _mm512_shuffle_i32x4(c, d, 0xdd);
  }
}

// Sums of kM by kK tiles, each (16,16), in registers 0 to 3: the m-th row of tiles lies m_stride numbers behind the
// first, the k-th of a row k_stride, and a line of a tile `line`.
template <int kM, int kK>
struct SumTiles {
  float* const sums;
  const int64_t m_stride, k_stride, line;

  [[gnu::always_inline, gnu::target("amx-tile")]] void zero() const {
    _tile_zero(0);
    if constexpr (kK > 1) _tile_zero(1);
    if constexpr (kM > 1) _tile_zero(2);
    if constexpr (kM > 1 && kK > 1) _tile_zero(3);
  }
  [[gnu::always_inline, gnu::target("amx-tile")]] void load() const {
    const int64_t bytes = line * int64_t(sizeof(float));
    _tile_loadd(0, sums, bytes);
    if constexpr (kK > 1) _tile_loadd(1, sums + k_stride, bytes);
    if constexpr (kM > 1) _tile_loadd(2, sums + m_stride, bytes);
    if constexpr (kM > 1 && kK > 1) _tile_loadd(3, sums + m_stride + k_stride, bytes);
  }
  [[gnu::always_inline, gnu::target("amx-tile")]] void store() const {
    const int64_t bytes = line * int64_t(sizeof(float));
    _tile_stored(0, sums, bytes);
    if constexpr (kK > 1) _tile_stored(1, sums + k_stride, bytes);
    if constexpr (kM > 1) _tile_stored(2, sums + m_stride, bytes);
    if constexpr (kM > 1 && kK > 1) _tile_stored(3, sums + m_stride + k_stride, bytes);
  }
};

}  // namespace neon::cpu

#pragma GCC diagnostic pop
