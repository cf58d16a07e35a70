// Reports of classes by counts made by hand; tests/cli/evaluate_test.py holds them to a naive count over files.
#include "neon/train/outcome.h"

#include <catch2/catch.hpp>

using namespace neon;

TEST_CASE("the mean over classes leaves out those that fill up their number alone") {
  // Two samples of class 0, of which one is taken for class 2; one of class 1, found. Class 3 has none and is never
  // said.
  Outcome outcome;
  outcome.width = 4;
  outcome.y = {0.9, 0.1, 0, 0, 0.1, 0.1, 0.8, 0, 0, 1, 0, 0};
  outcome.t = {1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0};
  const ClassReport report = class_report(outcome);
  CHECK(report.macro.precision == Approx((1 + 1 + 0) / 3.0));
  CHECK(report.macro.recall == Approx((0.5 + 1 + 0) / 3));
  CHECK(report.macro.support == 3);
  CHECK(report.weighted.recall == Approx((2 * 0.5 + 1) / 3));
  REQUIRE(report.classes.size() == 4);
  CHECK((report.classes[2].support == 0 && report.classes[2].predicted == 1 && report.classes[3].predicted == 0));
}

TEST_CASE("targets that are all alike have no variance to explain, whatever their mean is rounded to") {
  Outcome outcome;
  outcome.width = 1;
  outcome.t.assign(40, double(0.1f));
  outcome.y = outcome.t;
  CHECK(value_report(outcome, 0).r2 == 1);
  outcome.y[7] += 0.5;
  CHECK(value_report(outcome, 0).r2 == 0);
  outcome.t[3] += 0.5;
  CHECK(value_report(outcome, 0).r2 == Approx(1 - 2 * 0.25 / (0.25 * 39 / 40)));
}
