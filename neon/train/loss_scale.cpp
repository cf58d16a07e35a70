#include "neon/train/loss_scale.h"

#include <algorithm>

namespace neon {

namespace {

constexpr double kLeastLossScale = 1, kMostLossScale = 16777216;
constexpr int64_t kStepsBeforeGrowth = 2000;

}  // namespace

bool skip_overflow(Position& position) {
  if (position.loss_scale <= kLeastLossScale) return false;
  position.loss_scale = std::max(position.loss_scale / 2, kLeastLossScale);
  position.good_steps = 0;
  ++position.skipped;
  return true;
}

void grow_loss_scale(Position& position) {
  if (++position.good_steps < kStepsBeforeGrowth) return;
  position.loss_scale = std::min(position.loss_scale * 2, kMostLossScale);
  position.good_steps = 0;
}

int64_t steps_to_growth(const Position& position) { return kStepsBeforeGrowth - position.good_steps; }

}  // namespace neon
