// Long curves as few points that still show every peak.
#pragma once
#include <cstddef>
#include <vector>

#include "neon/report/run.h"

namespace neon {

// Points of a curve in buckets of as many points each. A bucket keeps its first, least, greatest and last point, and
// the mean of all of them, for smoothing.
struct ThinCurve {
  std::vector<size_t> kept;   // indices of points, in order
  std::vector<size_t> ends;   // of each bucket: one past its last point
  std::vector<double> means;  // of each bucket; numbers that are not finite do not count
  bool whole = true;          // every point is kept, and each is a bucket
};

// At most `most` points, at least 4.
ThinCurve thin(const Curve& curve, size_t most);

// How many points each curve may keep for `budget` bytes in all. A point of a curve takes 4 bytes for its place, and 4
// or 8 for its number.
size_t points_within(const std::vector<ReportedRun>& runs, size_t budget);

}  // namespace neon
