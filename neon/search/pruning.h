// Which trials end before their last epoch, by the curves of their objective.
#pragma once
#include <vector>

#include "neon/search/trials.h"

namespace neon {

// Whether the last point of the trial's curve is worse than the median of the others' at that epoch (Golovin et al.
// 2017). Compares once five others have come so far; `epochs`, the whole length, is never cut.
bool is_below_median(const Trial& trial, const std::vector<Trial>& all, const Objective& objective, int64_t epochs);

// Successive halving without waiting (Li et al. 2020): at 1/9 and at 1/3 of the epochs a trial goes on if it is among
// the best third of those that have come there so far, and the best one always does. Their numbers decide
// between equals.
bool leaves_at_rung(const Trial& trial, const std::vector<Trial>& all, const Objective& objective, int64_t epochs);

}  // namespace neon
