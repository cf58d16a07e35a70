// Regions of an image and the bins that they are cut into, for region pooling (Girshick 2015): corners are rounded to
// pixels and belong to the region, which has one pixel at least; neighbouring bins may share a row or column. See
// ops_regions.cpp.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace neon {

// Along one axis: from pixel `first` on. It may lie outside of the image.
struct Extent {
  int64_t first, size;
};

struct Region {
  Extent rows, columns;
};

// The first and the one after the last pixel of a bin, inside of the image; none: the bin is empty.
struct Bin {
  int64_t begin, end;
};

constexpr int64_t kFarthestPixel = 1 << 24;  // coordinates beyond are taken for it

template <typename R>
Extent extent_of(R first, R last, R scale) {
  // Halves away from zero.
  auto pixel = [&](R coordinate) {
    const R at = std::clamp(coordinate * scale, R(-kFarthestPixel), R(kFarthestPixel));
    const auto whole = int64_t(at);
    const R rest = at - R(whole);
    return whole + (rest >= R(0.5)) - (rest <= R(-0.5));
  };
  const int64_t begin = pixel(first);
  return {begin, std::max<int64_t>(pixel(last) - begin + 1, 1)};
}

// The corners x1, y1, x2, y2, in pixels of an image that is 1 / scale times as large. If a coordinate is not finite,
// all bins of the region are empty, and `missing` is NaN. `missing` stands for the largest element of an empty bin.
template <typename R>
Region region_of(const R* corners, R scale, R& missing) {
  missing = R(0) * (corners[0] + corners[1] + corners[2] + corners[3]);
  if (std::isnan(missing)) return {{kFarthestPixel, 1}, {kFarthestPixel, 1}};
  return {extent_of(corners[1], corners[3], scale), extent_of(corners[0], corners[2], scale)};
}

// Bin `index` of `count` along an axis of `length` pixels.
inline Bin bin_of(const Extent& extent, int64_t index, int64_t count, int64_t length) {
  const int64_t begin = extent.first + index * extent.size / count;
  const int64_t end = extent.first + ((index + 1) * extent.size + count - 1) / count;
  return {std::clamp<int64_t>(begin, 0, length), std::clamp<int64_t>(end, 0, length)};
}

}  // namespace neon
