// The choice among candidates that do the same: which takes the least time, with few runs of those that do not.
#pragma once
#include <cstddef>
#include <functional>

namespace neon::cuda {

// The time of one run, in milliseconds.
struct RunTime {
  float between;   // a mark before it on the device and one behind it
  float starting;  // of these the device may have waited so many for the host: it loads kernels, or others keep it
  float least() const { return between - starting; }
};

constexpr float kLongMilliseconds = 4;

// The index of the fastest of `count` candidates. `once` runs a candidate. `closely` returns the time of one run if
// that may be less than kLongMilliseconds, given the time with the host's delays. A candidate that certainly takes much
// longer than the best so far runs once or twice and is not measured closely.
size_t fastest(size_t count, const std::function<RunTime(size_t)>& once,
               const std::function<float(size_t, float)>& closely);

}  // namespace neon::cuda
