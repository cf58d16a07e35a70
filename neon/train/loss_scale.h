// The dynamic loss scale of 16-bit training (Micikevicius et al. 2018, section 3.2): a step whose gradients overflow is
// skipped and halves the scale; many steps without overflow double it. Its state stands in the run's position.
#pragma once
#include "neon/train/run_state.h"

namespace neon {

constexpr double kFirstLossScale = 65536;

// Takes in a step that overflowed. False: the scale is at its least, so a smaller scale cannot help.
bool skip_overflow(Position& position);
// Takes in a step that did not overflow.
void grow_loss_scale(Position& position);
// Steps until the scale may grow, which the host has to see.
int64_t steps_to_growth(const Position& position);

}  // namespace neon
