// Cross validation by a search: the mean of the trials that differ in their fold alone.
#pragma once
#include <string>
#include <vector>

#include "neon/search/trials.h"

namespace neon {

// A line for each combination of the other values that two folds or more were trained with, the best mean first. None
// where no range gives `fold` its value.
std::vector<std::string> fold_lines(const std::vector<Trial>& trials, const Objective& objective);

}  // namespace neon
