#include "neon/cli/rate_curve.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace neon {

namespace {

constexpr size_t kReach = 7;  // steps on each side of a mean: half a decade of rates in 200 steps
constexpr size_t kFar = 15;   // the same of the means that tell a fall from noise

double mean(const std::vector<double>& of, size_t first, size_t end) {
  return std::accumulate(of.begin() + long(first), of.begin() + long(end), 0.0) / double(end - first);
}

class BatchCosts {
 public:
  BatchCosts(const std::vector<double>& risen, const std::vector<double>& still)
      : risen_(risen), still_(still), size_(std::min(risen.size(), still.size())), first_(mean(still, 0, size_)) {
    positive_ = std::ranges::all_of(still, [](double cost) { return cost > 0; });
  }
  size_t size() const { return size_; }
  double first() const { return first_; }
  // The mean cost around step k, as if its batches had the first cost at first.
  double cost(size_t k, size_t reach) const {
    const double now = mean(risen_, begin(k, reach), end(k, reach)),
                 before = mean(still_, begin(k, reach), end(k, reach));
    return positive_ ? first_ * now / before : first_ + now - before;
  }
  // The standard error of that mean, by the spread of its steps.
  double standard_error(size_t k, size_t reach) const {
    const double ratio = positive_ ? cost(k, reach) / first_ : 1, shift = positive_ ? 0 : cost(k, reach) - first_;
    double squares = 0;
    for (size_t i = begin(k, reach); i < end(k, reach); ++i)
      squares += std::pow(risen_[i] - ratio * still_[i] - shift, 2);
    const double count = double(end(k, reach) - begin(k, reach)),
                 spread = std::sqrt(squares / std::max(count - 1, 1.0) / count);
    return positive_ ? spread * first_ / mean(still_, begin(k, reach), end(k, reach)) : spread;
  }

 private:
  static size_t begin(size_t k, size_t reach) { return k > reach ? k - reach : 0; }
  size_t end(size_t k, size_t reach) const { return std::min(k + reach + 1, size()); }

  const std::vector<double>&risen_, &still_;
  size_t size_;
  double first_;
  bool positive_ = false;  // costs are then compared by their ratio, which takes none of them below 0
};

// Whether the cost falls by more than its noise before it is least, or around there.
bool falls(const BatchCosts& batches, size_t least) {
  constexpr double kNoticeable = 1e-3, kErrors = 4;
  const double first = batches.first();
  for (size_t k = std::min(kFar, least); k <= least; ++k) {
    const double fall = first - batches.cost(k, kFar);
    if (fall > kNoticeable * std::fabs(first) && fall > kErrors * batches.standard_error(k, kFar)) return true;
  }
  return false;
}

// The step around which the cost falls most, before it has fallen nearly as far as it does. Behind that it rises and
// falls again, at rates that are too high.
size_t steepest_of(const std::vector<double>& costs, double first, size_t least) {
  constexpr double kNearly = 0.9;
  const double low = first - kNearly * (first - costs[least]);
  const auto end = size_t(std::ranges::find_if(costs, [&](double cost) { return cost <= low; }) - costs.begin());
  size_t out = 0;
  double most = -INFINITY;
  for (size_t k = 0; k <= end && k < least; ++k) {
    const size_t from = k > kReach ? k - kReach : 0, to = std::min(k + kReach, least);
    const double slope = (costs[from] - costs[to]) / double(to - from);
    if (slope > most) most = slope, out = k;
  }
  return out;
}

}  // namespace

RateCurve rate_curve(const std::vector<double>& risen, const std::vector<double>& still) {
  constexpr double kTooMuch = 4;
  RateCurve out;
  if (risen.empty() || still.empty()) return out;
  const BatchCosts batches(risen, still);
  out.first = batches.first();
  double least = INFINITY;
  for (size_t k = 0; k < batches.size(); ++k) {
    out.costs.push_back(batches.cost(k, kReach));
    least = std::min(least, out.costs.back());
    if (out.costs.back() > out.first && out.costs.back() > kTooMuch * std::fabs(least)) break;
  }
  out.least = size_t(std::ranges::min_element(out.costs) - out.costs.begin());
  if (falls(batches, out.least)) out.steepest = steepest_of(out.costs, out.first, out.least);
  return out;
}

}  // namespace neon
