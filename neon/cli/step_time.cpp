#include "neon/cli/step_time.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "neon/cli/rank_process.h"

namespace neon {

namespace {

constexpr double kMillisecondsOfOne = 10;
constexpr int64_t kMostTogether = 64;

}  // namespace

double milliseconds_of(const std::function<void()>& work) {
  const auto before = std::chrono::steady_clock::now();
  work();
  const double own = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - before).count();
  return own_ranks() ? std::ranges::max(own_ranks()->gather({&own, 1})) : own;
}

double median_ms(int64_t iterations, bool works_ahead, const std::function<void(int64_t)>& step) {
  int64_t together = 1;
  while (works_ahead && together < kMostTogether) {
    step(together);  // a launch of so many is recorded
    if (milliseconds_of([&] { step(together); }) >= kMillisecondsOfOne) break;
    together *= 2;
  }
  std::vector<double> times;
  const int64_t warm_up = std::max<int64_t>(5, iterations / 10);
  for (int64_t i = 0; i < warm_up + iterations; ++i) {
    const double took = milliseconds_of([&] { step(together); });
    if (i >= warm_up) times.push_back(took / double(together));
  }
  std::ranges::nth_element(times, times.begin() + long(times.size() / 2));
  return times[times.size() / 2];
}

}  // namespace neon
