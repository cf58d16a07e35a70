// How deep layers lie in a net, for the learning rates of layer_decay.
#pragma once
#include <vector>

#include "layers/layer.h"

namespace neon {

// By parameter: how many trained layers lie behind its layer. A layer is one deeper than the deepest trained layer that
// its input comes through. So branches begin at one depth, and a layer behind them is deeper than the longest.
// `stored` are the variables of the parameters in a graph of their step.
std::vector<int64_t> layers_behind(const Graph& graph, const std::vector<Parameter>& parameters,
                                   const std::vector<Value>& stored);

}  // namespace neon
