// Products of 16x16 tiles on AMX, for layouts of our own: a tile of bf16 is 16 rows of 32 elements, 1 KiB in a row; see
// `accumulate`. Call any of it only where has_amx() says so.
#pragma once
#include <cstdint>

#include "neon/core/dtype.h"

namespace neon::cpu {

constexpr int64_t kTileRows = 16, kTileDepth = 32, kTile = kTileRows * kTileDepth, kTileSums = kTileRows * kTileRows;

// Whether this processor has AMX for bf16 and the system lets this process use it. No below level v4.
bool has_amx();
// Whether it multiplies bf16 at all (AVX-512 BF16), likewise. Where not, oneDNN's products of bf16 take six to twelve
// times as long as in f32.
bool has_bf16();

// The tiles of the calling thread, while this lives.
class AmxTiles {
 public:
  AmxTiles();
  ~AmxTiles();
  AmxTiles(const AmxTiles&) = delete;
};

// to[i][d] = from[d * stride + i] for i < n, d < kTileDepth; zeros where d >= depth. `to` is (n, kTileDepth).
void transpose_for_tiles(const bf16* from, int64_t stride, int64_t depth, int64_t n, bf16* to);
// The other factor's tiles, of 16 columns each: to[j / 16][d / 2][j % 16][d % 2] = from[d * stride + j] for j < n,
// d < kTileDepth; zeros up to the next multiple of 16, and where d >= depth.
void interleave_for_tiles(const bf16* from, int64_t stride, int64_t depth, int64_t n, bf16* to);

// sums[m][k] += over the rows and steps: a tile of `a`, (16, 32), times a tile of `b`, (32, 16), for `m_tiles` and
// `k_tiles` of them, 1 or 2. The m-th tile of `a` lies kTile * m behind the first, that of `b` likewise; a tile of sums
// is (16, 16), the m-th row of them m_stride behind the first, the k-th of a row k_stride.
struct TileProducts {
  int64_t rows, steps;
  const bf16 *a, *b;
  int64_t a_row, a_step, b_row, b_step;  // elements
  float* sums;
  int64_t m_stride, k_stride = kTileSums, line = kTileRows;  // line: from line to line of a tile of sums
  bool anew = false;                                         // the sums begin at 0, whatever is there
};
void accumulate(const TileProducts& products, int64_t m_tiles, int64_t k_tiles);

}  // namespace neon::cpu
