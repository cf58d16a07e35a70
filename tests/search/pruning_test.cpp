// Which trials end early.
#include "neon/search/pruning.h"

#include <catch2/catch.hpp>

using namespace neon;

namespace {

Trial trial(int64_t number, std::vector<std::pair<int64_t, double>> curve) {
  Trial out;
  out.number = number;
  out.curve = std::move(curve);
  return out;
}

std::vector<Trial> with_costs_at_2(const std::vector<double>& costs) {
  std::vector<Trial> out;
  for (const double cost : costs) out.push_back(trial(int64_t(out.size()) + 1, {{1, 9}, {2, cost}, {3, 0}}));
  return out;
}

}  // namespace

TEST_CASE("a trial below the median of five others ends", "[search]") {
  const Objective cost{"cost", false}, share{"Accuracy", true};
  const auto others = with_costs_at_2({1, 2, 3, 4, 5});
  CHECK(is_below_median(trial(9, {{2, 3.5}}), others, cost, 10));
  CHECK_FALSE(is_below_median(trial(9, {{2, 3}}), others, cost, 10));
  CHECK_FALSE(is_below_median(trial(9, {{2, 3.5}}), others, share, 10));
  CHECK(is_below_median(trial(9, {{2, 2.5}}), others, share, 10));
  CHECK_FALSE(is_below_median(trial(9, {{2, 7}}), others, cost, 2));   // its last epoch
  CHECK_FALSE(is_below_median(trial(5, {{2, 7}}), others, cost, 10));  // itself is no other
}

TEST_CASE("the best third goes on at each rung", "[search]") {
  const Objective cost{"cost", false};
  // Of 9 epochs the rungs are 1 and 3. With the trial itself six have come to epoch 3: two go on.
  std::vector<Trial> all;
  for (int64_t i = 1; i <= 5; ++i) all.push_back(trial(i, {{1, 0}, {2, 0}, {3, double(i)}}));
  CHECK_FALSE(leaves_at_rung(trial(9, {{1, 0}, {2, 0}, {3, 1.5}}), all, cost, 9));
  CHECK(leaves_at_rung(trial(9, {{1, 0}, {2, 0}, {3, 2.5}}), all, cost, 9));
  CHECK_FALSE(leaves_at_rung(trial(9, {{1, 0}, {2, 99}}), all, cost, 9));  // no rung
  CHECK_FALSE(leaves_at_rung(trial(9, {{1, 0}, {2, 0}, {3, 0}, {4, 99}}), all, cost, 9));
  CHECK_FALSE(leaves_at_rung(trial(9, {{3, 5}}), {}, cost, 9));  // the first to come
  CHECK(leaves_at_rung(trial(9, {{3, 5}}), {trial(1, {{3, 4}})}, cost, 9));
  // Of 300 equals that come one after the other about a third go on, as of 300 that differ.
  std::vector<Trial> equal;
  int64_t kept = 0;
  for (int64_t number = 0; number < 300; ++number) {
    kept += leaves_at_rung(trial(number, {{3, 1}}), equal, cost, 9) ? 0 : 1;
    equal.push_back(trial(number, {{3, 1}}));
  }
  CHECK(kept >= 90);
  CHECK(kept <= 115);
}
