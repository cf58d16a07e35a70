// Guided backpropagation (Springenberg et al. 2015): as gradients() of op.h, but relus let no negative cotangent pass.
#pragma once
#include <span>
#include <vector>

#include "backends/graph/graph.h"

namespace neon {

std::vector<Value> guided_gradients(Graph& graph, Value output, std::span<const Value> wanted);

}  // namespace neon
