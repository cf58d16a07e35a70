// How often a step is timed, by a step whose time is known.
#include "neon/cli/step_time.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "neon/cli/rank_process.h"

using namespace neon;

namespace neon {

Ranks* own_ranks() { return nullptr; }

}  // namespace neon

namespace {

constexpr double kMilliseconds = 4;

void wait(int64_t steps) {
  std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(kMilliseconds * double(steps)));
}

}  // namespace

TEST_CASE("a step is timed as often as asked, and its time is the median's") {
  const StepTime of = time_steps({.most = 20}, false, wait);
  CHECK(of.timings == 20);
  CHECK(of.ms >= kMilliseconds);
  CHECK(of.ms < 10 * kMilliseconds);
}

TEST_CASE("a long step is timed less often, but as often as it must be") {
  const StepTime some = time_steps({.most = 1000, .least = 3, .seconds = 0.4}, false, wait);
  CHECK(some.timings > 3);
  CHECK(some.timings <= 0.4 * 1000 / kMilliseconds + 1);
  int64_t steps = 0;
  const StepTime few = time_steps({.most = 1000, .least = 7, .seconds = 1e-4}, false, [&](int64_t count) {
    steps += count;
    wait(count);
  });
  CHECK(few.timings == 7);
  CHECK(steps == 8);  // one that does not count
}
