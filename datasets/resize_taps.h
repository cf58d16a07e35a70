// Resizing an image as weighted sums of its numbers, with integer weights.
#pragma once
#include <cstdint>
#include <vector>

#include "backends/elementwise/level.h"

namespace neon {

// The neighbours that make some places of a resized axis; each place has equally many.
struct Taps {
  int64_t count = 0;
  std::vector<int64_t> first;    // by place
  std::vector<int16_t> weights;  // (places, count); those of a place add up to 2^15, or to one less
};

// The taps of the `side` places in the middle of an axis, once it is `to` long, at least `side`. There is a pixel for
// each `denominator` of the axis; the last pixel may have fewer. The axis then is length / denominator pixels long.
Taps taps_of_middle(int64_t length, int64_t to, int64_t side, int64_t denominator);

// The same along a line of pixels that begins with the first one needed, as elementwise::Resizing wants it.
struct LineWindows {
  std::vector<elementwise::LineWindow> windows;
  int64_t sixteens = 0;
  int64_t reach = 0;  // bytes of a line that are read; those behind its last pixel count for nothing
};
LineWindows windows_of(const Taps& taps, int64_t channels);

}  // namespace neon
