// What Winograd's convolutions share: which they are, and the tiles of m x m outputs, m = 7 - r for r x r filters, each
// made from 6 x 6 pixels (backends/elementwise/level_winograd.cpp).
#pragma once
#include <algorithm>
#include <optional>

#include "backends/cpu/operand.h"
#include "backends/elementwise/kernels.h"
#include "backends/graph/windows.h"

namespace neon::cpu {

constexpr int64_t kWinogradSide = 6;
using elementwise::kWinogradChannels;
using elementwise::kWinogradPlaces;

// 36 arrays (rows, channels), one of each place, a little apart: as multiples of 4096 bytes all would fall upon the
// same few lines of a cache.
struct Places {
  int64_t rows = 0, channels = 0;
  int64_t step() const { return rows * channels + kWinogradChannels; }
  int64_t elements() const { return kWinogradPlaces * step(); }
  int64_t bytes() const { return 4 * elements(); }
};

// The tiles that go through all of it at once: some of each thread, in a set of memory of its own; or the same of all
// threads, each of which then takes some of the products, where what all tiles meet, the filters or their sums, is too
// large for a thread's cache, or tiles are too few for all threads.
struct TileBlocks {
  // `channels` of patches and results together; `bytes_met` of the filters or their sums.
  TileBlocks(int64_t tiles, int64_t channels, int64_t bytes_met, int threads);
  int64_t count() const { return divided_up(tiles, together); }
  int64_t first(int64_t block) const { return block * together; }
  int64_t of(int64_t block) const { return std::min(together, tiles - first(block)); }

  int64_t tiles, together;
  bool shared;
  int sets;  // of memory
};

// x (N,H,W,C), filters r x r -> y (N,P,Q,K).
class WinogradTiles {
 public:
  WinogradTiles(const Shape& x, const Shape& y, const Windows& windows);
  int64_t side() const { return side_; }
  int64_t count() const { return y_[0] * down_ * across_; }
  // The 6 x 6 pixels that tile `tile` sees: x's, or `outside`, C numbers.
  void patch(int64_t tile, const float* x, const float* outside, const float** pixels) const;
  // The side x side pixels of y: its own, or `outside`, K numbers.
  template <typename T>
  void outputs(int64_t tile, T* y, T* outside, T** pixels) const;

 private:
  struct Corner {
    int64_t image, line, column;
  };
  Corner corner(int64_t tile) const;

  Shape x_, y_;
  int64_t side_, before_[2], down_, across_;
};

// Types whose convolutions are computed in f32: those that the processor does not multiply itself.
bool computes_in_f32(DType dtype);

// Whether a convolution (N,H,W,C) -> (N,P,Q,K) by filters (K,R,S,C), or a gradient of one, is worth its tiles: filters
// of 3 x 3 or 5 x 5 that step by one, channels in whole vectors, enough tiles that images fill; and, of a tile, at
// least `least_saved` products fewer for each of its C + K channels, which are brought to places or back.
bool suits_winograd(const Windows& windows, int64_t groups, const Shape& x, const Shape& w, const Shape& y,
                    double least_saved);

}  // namespace neon::cpu
