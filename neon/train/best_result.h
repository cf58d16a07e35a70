// Which of a run's nets is its best: by the first metric of the spec, else by the cost, of the set that is evaluated
// while training goes on. The cost decides between equal metrics.
#pragma once
#include <map>
#include <string>

#include "neon/train/run_setup.h"

namespace neon {

// The name of the result that tells.
std::string name_of_best(const Experiment& experiment);
// Notes in the position whether the results of its net are better than all before, and returns that. Nets that train
// against each other, and those of phases before the last, are never the best.
bool note_if_best(const RunSetup& setup, const std::map<std::string, double>& results, Position& position);
// "Top1Misclass 2.13 %": the value of the best net.
std::string best_text(const Position& position, const Experiment& experiment, const std::string& set);

}  // namespace neon
