// Whether the net of a checkpoint computes anything else by what --set changes in its spec.
#pragma once
#include <functional>
#include <string>

#include "neon/cli/session.h"

namespace neon {

// Throws where --set changes a part of `layers` or `rule`, and the graph of the verb, eval, predict or sample, is the
// same without the change. `graph_of` describes what the verb computes.
void check_graph_heeded(const std::string& verb, const OpenedRun& opened,
                        const std::function<Graph(const Experiment&)>& graph_of);

}  // namespace neon
