#include "neon/train/learning_watch.h"

#include <algorithm>
#include <cmath>

#include "neon/core/text.h"
#include "neon/train/progress.h"

namespace neon {

namespace {

constexpr double kGrowthBeyondSense = 1e6;
constexpr double kHardlyBetter = 0.99;  // of a constant answer's cost
constexpr double kFalls = 0.9;          // so much of an epoch's mean cost in its second half: the net learns
constexpr int64_t kFewestSteps = 10;    // a run of fewer is a trial
// Overfitting: so many evaluations after the best one, the cost is higher by this share.
constexpr int64_t kEvaluationsAbove = 3;
constexpr double kRisen = 0.05;

}  // namespace

void LearningWatch::step(double cost, int64_t step, int64_t steps) {
  ++steps_;
  if (!first_ && std::isfinite(cost)) first_ = cost;
  if (2 * step + 1 < steps || !std::isfinite(cost)) return;
  sum_ += cost;
  ++count_;
}

std::optional<double> LearningWatch::constant() {
  if (compute_constant_) constant_ = compute_constant_();
  compute_constant_ = nullptr;
  return constant_;
}

std::string LearningWatch::divergence() {
  const double begin = std::max(first_.value_or(0), 0.0), now = late_cost();
  if (!(now > begin * kGrowthBeyondSense)) return "";
  const double sensible = std::max(begin, constant().value_or(0));
  if (sensible == 0 || now <= sensible * kGrowthBeyondSense) return "";
  return text("the training cost grew from ", cost_text(begin), " to ", cost_text(now));
}

std::string LearningWatch::end_epoch(int64_t epoch, double mean_cost) {
  const std::string out = warning(epoch, mean_cost);
  sum_ = 0, count_ = 0;
  return out;
}

std::string LearningWatch::evaluated(int64_t epoch, double cost, double train_cost, const std::string& set) {
  if (noted_ || !std::isfinite(cost)) return "";
  if (!least_ || cost < *least_) {
    least_ = cost, train_then_ = train_cost, least_epoch_ = epoch, since_ = 0;
    return "";
  }
  ++since_;
  if (since_ < kEvaluationsAbove || cost - *least_ < kRisen * std::fabs(*least_) || train_cost >= train_then_)
    return "";
  noted_ = true;
  return text("note: overfitting since epoch ", least_epoch_ + 1, ": the ", set, " cost rises, from ",
              cost_text(*least_), " to ", cost_text(cost), ", while the training cost falls. More data, augment, ",
              "Dropout or wdecay may help; EarlyStop ends such a run");
}

std::string LearningWatch::warning(int64_t epoch, double mean_cost) {
  if (warned_ || steps_ < kFewestSteps || count_ == 0) return "";
  const std::optional<double> nothing = constant();
  if (!nothing || *nothing <= 0) return "";
  if (mean_cost < kHardlyBetter * *nothing || late_cost() < kHardlyBetter * *nothing) return "";
  if (late_cost() < kFalls * mean_cost) return "";
  warned_ = true;
  return text("warning: after epoch ", epoch, " the training cost, ", cost_text(mean_cost),
              ", is no better than the same answer for every sample, ", cost_text(*nothing),
              ": the net has not learnt. Try another learning rate or initializer, or normalized inputs");
}

}  // namespace neon
