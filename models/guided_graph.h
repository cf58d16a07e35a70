// Guided backpropagation (Springenberg et al. 2015, "Striving for simplicity"): the pixels that a feature map responds
// to.
#pragma once
#include "models/step_graph.h"

namespace neon {

// An evaluation's pass up to a layer of feature maps (N,P,Q,K). Outputs: x (N,H,W,C), the samples as the net sees them;
// best (N,K), the largest activation of each map; guided (N,H,W,C), what leads back to the pixels from the largest
// activations of those maps for which the input `chosen` (N,K) is 1. On its way, relus stop negative gradients, too.
StepGraph guided_graph(const Network& network, const std::string& layer, const DataLayout& data, int64_t set_size,
                       const StepOptions& options);

// The layers of a net that are convolutions of images, in order.
std::vector<std::string> convolutions_of(const std::vector<Parameter>& parameters);

}  // namespace neon
