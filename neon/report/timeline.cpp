#include <algorithm>
#include <cmath>
#include <limits>

#include "neon/report/run.h"

namespace neon {

namespace {

double clock_at(const std::vector<double>& steps, const std::vector<double>& clock, double step) {
  const size_t known = std::min(steps.size(), clock.size());
  if (known < 2) return std::numeric_limits<double>::quiet_NaN();
  const auto behind = std::lower_bound(steps.begin() + 1, steps.begin() + std::ptrdiff_t(known) - 1, step);
  const size_t i = size_t(behind - steps.begin());
  return clock[i - 1] + (step - steps[i - 1]) / (steps[i] - steps[i - 1]) * (clock[i] - clock[i - 1]);
}

}  // namespace

double Timeline::epoch_at(double step) const { return clock_at(steps, epochs, step); }
double Timeline::second_at(double step) const { return clock_at(steps, seconds, step); }

const Curve* ReportedRun::find(const std::string& curve) const {
  const auto found = std::ranges::find(curves, curve, &Curve::name);
  return found == curves.end() ? nullptr : &*found;
}

}  // namespace neon
