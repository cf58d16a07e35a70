#include "neon/search/pruning.h"

#include <algorithm>
#include <cmath>

namespace neon {

namespace {

constexpr int64_t kFirstRung = 9, kShare = 3;
constexpr size_t kLeastOthers = 5;

struct OtherCost {
  double cost;
  bool first;  // of equals
};

// An order of equal trials in which those that come late are not always last: fractions of the golden ratio.
uint64_t turn(int64_t number) { return uint64_t(number) * 0x9E3779B97F4A7C15; }

// The costs of the other trials' curves at an epoch, or at the first evaluation after it.
std::vector<OtherCost> costs_at(int64_t epoch, const Trial& except, const std::vector<Trial>& all,
                                const Objective& objective) {
  std::vector<OtherCost> out;
  for (const Trial& trial : all) {
    if (trial.number == except.number) continue;
    const auto at = std::ranges::find_if(trial.curve, [&](const auto& point) { return point.first >= epoch; });
    if (at != trial.curve.end()) out.push_back({objective.cost(at->second), turn(trial.number) < turn(except.number)});
  }
  return out;
}

}  // namespace

bool is_below_median(const Trial& trial, const std::vector<Trial>& all, const Objective& objective, int64_t epochs) {
  if (trial.curve.empty() || trial.curve.back().first >= epochs) return false;
  std::vector<OtherCost> others = costs_at(trial.curve.back().first, trial, all, objective);
  if (others.size() < kLeastOthers) return false;
  const auto middle = others.begin() + std::ptrdiff_t(others.size() / 2);
  std::ranges::nth_element(others, middle, {}, &OtherCost::cost);
  return objective.cost(trial.curve.back().second) > middle->cost;
}

bool leaves_at_rung(const Trial& trial, const std::vector<Trial>& all, const Objective& objective, int64_t epochs) {
  if (trial.curve.empty()) return false;
  const int64_t now = trial.curve.back().first;
  const int64_t before = trial.curve.size() > 1 ? trial.curve[trial.curve.size() - 2].first : 0;
  for (int64_t part = kFirstRung; part > 1; part /= kShare) {
    const int64_t rung = std::max<int64_t>(epochs / part, 1);
    if (now >= epochs || now < rung || before >= rung) continue;
    const double cost = objective.cost(trial.curve.back().second);
    const std::vector<OtherCost> others = costs_at(rung, trial, all, objective);
    const auto is_before = [&](const OtherCost& other) {
      return other.cost < cost || (other.cost == cost && other.first);
    };
    const auto better = size_t(std::ranges::count_if(others, is_before));
    if (better >= std::max<size_t>((others.size() + 1) / kShare, 1)) return true;
  }
  return false;
}

}  // namespace neon
