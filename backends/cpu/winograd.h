// What Winograd's convolutions share: which they are, and the tiles of m x m outputs, m = 7 - r for r x r filters, each
// made from 6 x 6 pixels (backends/elementwise/level_winograd.cpp).
#pragma once
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

// What a thread has of tiles, and at most of what all of them meet (filters or their sums), so that both stay in its
// cache. Where the latter are more, all threads take the same tiles, and each some of the products: then the tiles go
// from one cache to another, which are few beside the products.
constexpr int64_t kBytesOfTiles = 768 << 10, kMostBytesApart = 1280 << 10;
constexpr int64_t kSharedTiles = 256;

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

// Whether a convolution (N,H,W,C) -> (N,P,Q,K) by filters (K,R,S,C), or a gradient of one, is worth its tiles: filters
// of 3 x 3 or 5 x 5 that step by one, channels in whole vectors, enough tiles that images fill, and at least
// `least_saved` products fewer for a tile of each channel and filter that are brought to places or back.
bool suits_winograd(const Windows& windows, int64_t groups, const Shape& x, const Shape& w, const Shape& y,
                    double least_saved);

}  // namespace neon::cpu
