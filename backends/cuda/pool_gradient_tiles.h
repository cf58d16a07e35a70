// The tiles of max pooling's gradient: a thread has as many elements along an axis as windows are apart, or two where
// they are neighbours, and the windows that have these. Text of loops over both.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "backends/cuda/code_text.h"

namespace neon::cuda {

// Elements of the array are `large`, windows `small`; tile t has elements t * tile + i, which windows t * step + q see.
struct PoolAxis {
  int64_t large = 1, small = 1, window = 1, stride = 1, before = 0;
  int64_t tile = 1, tiles = 1;
  bool overlaps() const { return window > stride; }
  int64_t step() const { return tile / stride; }
  // The windows of a tile; those that do not overlap have its elements and the gaps behind them.
  int64_t first() const { return overlaps() ? quotient_up(before - window + 1, stride) : before / stride; }
  int64_t last() const { return (tile - 1 + before) / stride; }
  bool has_all_windows() const { return first() >= 0 && (tiles - 1) * step() + last() < small; }
};

class PoolGradientTiles {
 protected:
  // Whether windows see each channel by itself.
  bool by_channel() const {
    const PoolAxis& last = axes_.back();
    return last.window == 1 && last.stride == 1 && last.large == last.small;
  }
  size_t last() const { return axes_.size() - 1; }  // that of the channels
  int64_t elements() const {                        // of a tile
    int64_t out = 1;
    for (const PoolAxis& axis : axes_) out *= axis.tile;
    return out;
  }
  int64_t windows_of_tile() const;
  // The tiles along the first `axes` of all samples.
  int64_t tiles(size_t axes) const;
  static const char* index_type(int64_t count) { return count < (int64_t(1) << 31) ? "u32" : "i64"; }

  // Row-major place of coordinates n, PREFIX0, PREFIX1, ... in an array of samples.
  std::string place(const char* prefix, int64_t PoolAxis::*size) const;
  // t0, t1, ... of the first `axes`, and n, of what is left of `rest`.
  std::string coordinates(size_t axes) const;
  // `body` for the windows o0, o1, ... that see the tile, with `there` where one may lie outside.
  std::string for_windows(const std::string& body) const;
  // `body` for the elements i0, i1, ... of the tile, of which the array has x0, x1, ... where `inside`.
  std::string for_elements(const std::string& body) const;
  // The place of element i0, i1, ... in window q0, q1, ...: `at`, -1 behind a window's end, where `sees`.
  std::string place_in_window() const;
  // The numbers of window q0, q1, ... and of element i0, i1, ... of the tile.
  std::string window_of_tile() const;
  std::string element_of_tile() const;

  std::vector<PoolAxis> axes_;  // without the samples'
  int64_t samples_ = 0;
  int width_ = 1;  // neighbouring channels of a thread
};

}  // namespace neon::cuda
