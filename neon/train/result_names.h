// The names of results, by which people and files tell metrics apart.
#pragma once
#include <string>
#include <vector>

#include "neon/core/registry.h"
#include "transforms/metric.h"

namespace neon {

class Experiment;

// The names of what the evaluations of a run report beside the cost, once each: of the spec's results, and of those of
// a rule that only an earlier phase has.
std::vector<std::string> reported_names(const Experiment& experiment);

// Metrics may share a result, as Top1Misclass, which is the same of both. Metrics that share all results differ in
// nothing that a name shows, and one would be taken for the other.
// `where` is the list in the spec, which problems are about.
void check_result_names(const std::vector<Made<Metric>>& metrics, const Setting* where, Problems& problems);

}  // namespace neon
