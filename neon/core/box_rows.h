// Boxes of the objects in images, as targets: rows (most,6) of class, x1, y1, x2, y2 as shares of the image's width and
// height, and 1 for a difficult one. Rows of class -1 fill up the list.
#pragma once
#include <cstdint>

namespace neon {

constexpr int64_t kBoxNumbers = 6;

}  // namespace neon
