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
