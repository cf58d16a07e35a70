// What the numbers of an image brought to another size are sums of, in whole numbers.
#pragma once
#include <cstdint>
#include <vector>

#include "backends/elementwise/level.h"

namespace neon {

// What some places of a resized axis are made of: the same number of neighbours each.
struct Taps {
  int64_t count = 0;
  std::vector<int64_t> first;    // by place
  std::vector<int16_t> weights;  // (places, count); those of a place add up to 2^15, or to one less
};

// Of the `side` places in the middle of an axis, once the shorter axis of its image is `side` long. There is a pixel
// for each `denominator` of the axis, the last of which may have fewer: such an axis is length / denominator pixels
// long.
Taps taps_of_middle(int64_t length, int64_t shorter, int64_t side, int64_t denominator);

// The same along a line of pixels that begins with the first one needed, as elementwise::Resizing wants it.
struct LineWindows {
  std::vector<elementwise::LineWindow> windows;
  int64_t sixteens = 0;
  int64_t reach = 0;  // bytes of a line that are read; those behind its last pixel count for nothing
};
LineWindows windows_of(const Taps& taps, int64_t channels);

}  // namespace neon
