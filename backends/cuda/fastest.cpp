#include "backends/cuda/fastest.h"

#include <algorithm>
#include <limits>

namespace neon::cuda {

namespace {

constexpr float kHopeless = 1.5f;  // times as long as the best

}  // namespace

size_t fastest(size_t count, const std::function<RunTime(size_t)>& once,
               const std::function<float(size_t, float)>& closely) {
  size_t out = 0;
  float best = std::numeric_limits<float>::infinity();
  for (size_t i = 0; i < count; ++i) {
    const RunTime first = once(i);  // which loads it
    if (first.least() > kHopeless * best) continue;
    const RunTime second = once(i);
    if (second.least() > kHopeless * best) continue;
    float took = std::min(first.between, second.between);
    if (second.least() < kLongMilliseconds) took = closely(i, took);
    if (took < best) best = took, out = i;
  }
  return out;
}

}  // namespace neon::cuda
