// How long a step takes.
#pragma once
#include <cstdint>
#include <functional>
#include <limits>

namespace neon {

// Milliseconds of the work; several ranks take the time of the slowest, and so do the same from there on.
double milliseconds_of(const std::function<void()>& work);

// How often a step is timed: `most` times, or fewer where that would take more than `seconds`, but `least` in any case.
struct Timings {
  int64_t most = 1, least = 1;
  double seconds = std::numeric_limits<double>::infinity();
};
struct StepTime {
  double ms = 0;
  int64_t timings = 0;
};

// The median, after some timings that do not count. `step(n)` does n steps. A GPU works ahead of the host, so that the
// time of one short step alone would be that of waiting for it: as many are timed as one as take 10 ms, up to 64.
StepTime time_steps(const Timings& timings, bool works_ahead, const std::function<void(int64_t)>& step);
inline double median_ms(int64_t timings, bool works_ahead, const std::function<void(int64_t)>& step) {
  return time_steps({.most = timings}, works_ahead, step).ms;
}

}  // namespace neon
