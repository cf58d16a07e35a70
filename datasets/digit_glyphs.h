// The ten digits as people write them: a few variants each, as pen strokes in the unit square.
#pragma once
#include <vector>

#include "datasets/strokes.h"

namespace neon {

// Strokes of one variant: each goes smoothly through its points; two points are a straight line.
using Glyph = std::vector<std::vector<Point>>;

// Variants of digit 0 to 9.
const std::vector<Glyph>& digit_glyphs(int digit);

}  // namespace neon
