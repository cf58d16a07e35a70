#include "neon/report/thin.h"

#include <algorithm>
#include <cmath>

namespace neon {

namespace {

constexpr size_t kOfBucket = 4;  // points that a bucket keeps at most
constexpr size_t kLeastPoints = 200;

void add_bucket(const Curve& curve, size_t begin, size_t end, ThinCurve& out) {
  size_t least = begin, greatest = begin, counted = 0;
  double sum = 0;
  for (size_t i = begin; i < end; ++i) {
    const double value = curve.values[i];
    if (value < curve.values[least]) least = i;
    if (value > curve.values[greatest]) greatest = i;
    if (std::isfinite(value)) sum += value, ++counted;
  }
  size_t points[] = {begin, std::min(least, greatest), std::max(least, greatest), end - 1};
  for (const size_t i : points)
    if (out.kept.empty() || out.kept.back() < i) out.kept.push_back(i);
  out.ends.push_back(end);
  out.means.push_back(counted ? sum / double(counted) : curve.values[begin]);
}

}  // namespace

ThinCurve thin(const Curve& curve, size_t most) {
  ThinCurve out;
  const size_t n = curve.values.size(), buckets = n <= most ? n : std::max<size_t>(most / kOfBucket, 1);
  out.whole = buckets == n;
  for (size_t b = 0; b < buckets; ++b) add_bucket(curve, b * n / buckets, (b + 1) * n / buckets, out);
  return out;
}

size_t points_within(const std::vector<ReportedRun>& runs, size_t budget) {
  const auto bytes = [&](size_t most) {
    size_t sum = 0;
    for (const ReportedRun& run : runs)
      for (const Curve& curve : run.curves) {
        const size_t points = std::min(curve.values.size(), most);
        sum += points * (curve.wide ? 12 : 8) + (points < curve.values.size() ? points * 2 : 0);
      }
    return sum;
  };
  size_t most = kLeastPoints;
  for (const ReportedRun& run : runs)
    for (const Curve& curve : run.curves) most = std::max(most, curve.values.size());
  while (most > kLeastPoints && bytes(most) > budget) most = std::max(most * 9 / 10, kLeastPoints);
  return most;
}

}  // namespace neon
