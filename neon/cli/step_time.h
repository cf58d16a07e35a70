// How long a step takes.
#pragma once
#include <cstdint>
#include <functional>

namespace neon {

// Milliseconds of the work; several ranks take the time of the slowest, and so do the same from there on.
double milliseconds_of(const std::function<void()>& work);

// Milliseconds of one step: the median of so many timings, after some that do not count. `step(n)` does n steps. A GPU
// works ahead of the host, so that the time of one short step alone would be that of waiting for it: as many are timed
// as one as take 10 ms, up to 64.
double median_ms(int64_t iterations, bool works_ahead, const std::function<void(int64_t)>& step);

}  // namespace neon
