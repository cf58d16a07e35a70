// Every schedule against the values that neon's own tests state, its formula, or PyTorch.
#include <catch2/catch.hpp>

#include "optimizers/schedule.h"
#include "tests/support/golden.h"

using namespace neon;
using namespace neon_test;

TEST_CASE("rates are those of the golden file") {
  for (const Setting& one : golden("optimizers/golden/schedules.json").items) {
    INFO(at(one, "schedule").to_string());
    const auto schedule = Registry<Schedule>::get().create(object_of(at(one, "schedule")));
    const double base = number_of(at(one, "base"));
    Progress progress;
    progress.steps_per_epoch = int64_t(number_of(at(one, "steps_per_epoch")));
    progress.epochs = int64_t(number_of(at(one, "epochs")));
    for (double rate : numbers(at(one, "rates"))) {
      INFO("step " << progress.step);
      check_close(schedule->rate(base, progress), rate, 1e-14 * base);
      ++progress.step;
      progress.epoch = progress.step / progress.steps_per_epoch;
    }
  }
}

TEST_CASE("every schedule has a golden case, and reads back as written") {
  const Setting cases = golden("optimizers/golden/schedules.json");
  CHECK(uncovered("schedule", cases, "schedule") == std::vector<std::string>{});
  for (const Setting& one : cases.items) {
    const auto [first, second] = round_trip<Schedule>(object_of(at(one, "schedule")));
    CHECK(first == second);
  }
}

TEST_CASE("a rate follows from the place in the run alone, whatever was asked before") {
  const auto schedule =
      Registry<Schedule>::get().create(yaml_of("Schedule: {step_config: [2, 7], change: [0.5, 0.25]}"));
  CHECK(schedule->rate(1, {.epoch = 9}) == 0.25);
  CHECK(schedule->rate(1, {.epoch = 0}) == 1);
  CHECK(schedule->rate(1, {.epoch = 2}) == 0.5);
}

TEST_CASE("the step that ends a warm-up is the next schedule's") {
  const auto schedule = Registry<Schedule>::get().create(
      yaml_of("Warmup: {warmup: 2, then: {Schedule: {step_config: [2], change: 0.5}}}"));
  CHECK(schedule->rate(1, {.epoch = 1, .step = 19, .steps_per_epoch = 10}) == 1);
  CHECK(schedule->rate(1, {.epoch = 2, .step = 20, .steps_per_epoch = 10}) == 0.5);
}

TEST_CASE("each cycle of restarts begins with the whole rate, however the place is rounded") {
  for (const int64_t steps : {7, 10, 30, 391, 469})
    for (const int64_t length : {1, 2, 3, 7}) {  // of a cycle, in steps
      INFO(steps << " steps, cycles of " << length);
      const auto schedule = Registry<Schedule>::get().create(
          yaml_of(text("CosineRestarts: {period: ", number(double(length) / double(steps)), ", floor: 0.125}")));
      for (int64_t cycle = 0; cycle < 1000; ++cycle)
        CHECK(schedule->rate(2, {.step = cycle * length, .steps_per_epoch = steps}) == Approx(2).epsilon(1e-12));
    }
}
