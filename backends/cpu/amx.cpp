#include "backends/cpu/amx.h"

#include <cpuid.h>
// GCC 12 takes what its own header leaves undefined on purpose for a mistake.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string_view>

#include "backends/cpu/amx_parts.h"
#include "backends/elementwise/kernels.h"

namespace neon::cpu {

namespace {

#define NEON_VECTORS [[gnu::target("avx512f,avx512bw,avx512vl")]]
#define NEON_TILES [[gnu::target("amx-tile,amx-bf16")]]

bool processor_has_amx() {
  constexpr unsigned kBf16 = 1u << 22, kTiles = 1u << 24;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & kBf16) && (d & kTiles);
}

// Linux gives a process the tiles' state only when asked.
bool system_grants_tiles() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

// Elements i to i + 15 of rows d and d + 1, in pairs: what does not exist is zero.
NEON_VECTORS __m512i pairs(const bf16* from, int64_t stride, int64_t depth, int64_t d, __mmask16 mask) {
  const __m256i none = _mm256_setzero_si256();
  const __m256i even = d < depth ? _mm256_maskz_loadu_epi16(mask, from + d * stride) : none,
                odd = d + 1 < depth ? _mm256_maskz_loadu_epi16(mask, from + (d + 1) * stride) : none;
  return _mm512_or_si512(_mm512_cvtepu16_epi32(even), _mm512_slli_epi32(_mm512_cvtepu16_epi32(odd), 16));
}

__mmask16 mask_of(int64_t n) { return n >= kTileRows ? __mmask16(0xffff) : __mmask16((1u << n) - 1); }

// Eight tiles of 16 rows of 64 bytes. Constant: the compiler does not know that the instruction reads all of it.
struct alignas(64) TileConfiguration {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
constexpr TileConfiguration kAllTiles;
NEON_TILES void configure_tiles() { _tile_loadconfig(&kAllTiles); }
NEON_TILES void release_tiles() { _tile_release(); }

// Registers 0 to 3 hold the sums, 4 and 5 tiles of a, 6 and 7 of b.
template <int kM, int kK>
NEON_TILES void accumulate_tiles(const TileProducts& p) {
  constexpr int64_t kRow = kTileDepth * int64_t(sizeof(bf16));
  const SumTiles<kM, kK> sums{p.sums, p.m_stride, p.k_stride, p.line};
  p.anew ? sums.zero() : sums.load();
  for (int64_t row = 0; row < p.rows; ++row) {
    const bf16 *a = p.a + row * p.a_row, *b = p.b + row * p.b_row;
    for (int64_t step = 0; step < p.steps; ++step, a += p.a_step, b += p.b_step) {
      _tile_loadd(4, a, kRow);
      _tile_loadd(6, b, kRow);
      _tile_dpbf16ps(0, 4, 6);
      if constexpr (kK > 1) {
        _tile_loadd(7, b + kTile, kRow);
        _tile_dpbf16ps(1, 4, 7);
      }
      if constexpr (kM > 1) {
        _tile_loadd(5, a + kTile, kRow);
        _tile_dpbf16ps(2, 5, 6);
      }
      if constexpr (kM > 1 && kK > 1) _tile_dpbf16ps(3, 5, 7);
    }
  }
  sums.store();
}

}  // namespace

bool has_amx() {
  static const bool has =
      std::string_view(elementwise::active_level().name) == "v4" && processor_has_amx() && system_grants_tiles();
  return has;
}

bool has_bf16() {
  static const bool has =
      std::string_view(elementwise::active_level().name) == "v4" && __builtin_cpu_supports("avx512bf16");
  return has;
}

AmxTiles::AmxTiles() { configure_tiles(); }
AmxTiles::~AmxTiles() { release_tiles(); }

NEON_VECTORS void transpose_for_tiles(const bf16* from, int64_t stride, int64_t depth, int64_t n, bf16* to) {
  for (int64_t i = 0; i < n; i += kTileRows) {
    __m512i v[16];
    const __mmask16 mask = mask_of(n - i);
    for (int pair = 0; pair < 16; ++pair) v[pair] = pairs(from + i, stride, depth, 2 * pair, mask);
    turn(v);
    for (int row = 0; row < 16; ++row)
      if (i + row < n) _mm512_storeu_si512(to + (i + row) * kTileDepth, v[row]);
  }
}

NEON_VECTORS void interleave_for_tiles(const bf16* from, int64_t stride, int64_t depth, int64_t n, bf16* to) {
  for (int64_t j = 0; j < n; j += kTileRows, to += kTile)
    for (int pair = 0; pair < 16; ++pair)
      _mm512_storeu_si512(to + pair * kTileDepth, pairs(from + j, stride, depth, 2 * pair, mask_of(n - j)));
}

void accumulate(const TileProducts& products, int64_t m_tiles, int64_t k_tiles) {
  // The compiler does not know what the tiles read.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (m_tiles > 1) k_tiles > 1 ? accumulate_tiles<2, 2>(products) : accumulate_tiles<2, 1>(products);
  else k_tiles > 1 ? accumulate_tiles<1, 2>(products) : accumulate_tiles<1, 1>(products);
}

}  // namespace neon::cpu

#undef NEON_VECTORS
#undef NEON_TILES
#pragma GCC diagnostic pop
