// Initializers of weights for which a spec gives none: one that fits the activation behind them.
#pragma once
#include <string>

#include "layers/initializer.h"
#include "transforms/activation.h"

namespace neon {

constexpr const char* kInitSentence =
    "Initializer of the weights, as in init: Kaiming. Default: Kaiming before a rectifier (Rectlin, PReLU, Explin, "
    "Gelu, "
    "Swish and their like), otherwise GlorotUniform.";

// `given` itself, or the default for weights before that activation.
Made<Initializer> init_before(const Made<Activation>& activation, const Made<Initializer>& given);

// The name of the default that `used` is, or "" where a spec gave it.
std::string name_of_default(const Initializer* used);

}  // namespace neon
