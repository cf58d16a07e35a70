// Boxes and overlaps in doubles, for the tests of detection.
#pragma once
#include <algorithm>
#include <array>

namespace neon_test {

using Corners = std::array<double, 4>;  // x1, y1, x2, y2

inline double overlap(const Corners& a, const Corners& b) {
  const double across = std::min(a[2], b[2]) - std::max(a[0], b[0]), down = std::min(a[3], b[3]) - std::max(a[1], b[1]);
  if (across <= 0 || down <= 0) return 0;
  const auto area = [](const Corners& box) { return (box[2] - box[0]) * (box[3] - box[1]); };
  return across * down / (area(a) + area(b) - across * down);
}

}  // namespace neon_test
