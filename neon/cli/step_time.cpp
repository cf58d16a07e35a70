#include "neon/cli/step_time.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "neon/cli/rank_process.h"

namespace neon {

namespace {

constexpr double kMillisecondsOfOne = 10;
constexpr int64_t kMostTogether = 64, kLeastWarmUp = 5;

}  // namespace

double milliseconds_of(const std::function<void()>& work) {
  const auto before = std::chrono::steady_clock::now();
  work();
  const double own = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - before).count();
  return own_ranks() ? std::ranges::max(own_ranks()->gather({&own, 1})) : own;
}

StepTime time_steps(const Timings& timings, bool works_ahead, const std::function<void(int64_t)>& step) {
  int64_t together = 1;
  while (works_ahead && together < kMostTogether) {
    step(together);  // a launch of so many is recorded
    if (milliseconds_of([&] { step(together); }) >= kMillisecondsOfOne) break;
    together *= 2;
  }
  // Ranks end together: each has the same times.
  const double all_ms = 1000 * timings.seconds;
  double warm_ms = 0, timed_ms = 0;
  for (int64_t i = 0; i < std::max(kLeastWarmUp, timings.most / 10) && warm_ms < all_ms / 4; ++i)
    warm_ms += milliseconds_of([&] { step(together); });
  std::vector<double> times;
  while (int64_t(times.size()) < timings.least || (int64_t(times.size()) < timings.most && timed_ms < all_ms)) {
    const double took = milliseconds_of([&] { step(together); });
    timed_ms += took;
    times.push_back(took / double(together));
  }
  std::ranges::nth_element(times, times.begin() + long(times.size() / 2));
  return {.ms = times[times.size() / 2], .timings = int64_t(times.size())};
}

}  // namespace neon
