// The spec of a search's best trial: one that trains the same by itself.
#pragma once
#include "neon/cli/search_plan.h"

namespace neon {

constexpr const char* kBestSpec = "best.yaml";  // in the folder of the search

// Writes the search's spec with the trial's values and seed, and with the options that a spec has a key for. Paths of
// data are absolute, since the file stands in another folder. Its head has the `outcome` and the command that trains
// the trial again.
void write_best_spec(const std::string& file, const CommandLine& line, const SearchPlan& plan, const Trial& trial,
                     const std::string& outcome);

}  // namespace neon
