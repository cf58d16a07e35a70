// Initializers of weights for which a spec gives none.
#pragma once
#include <string>

#include "layers/initializer.h"
#include "transforms/activation.h"

namespace neon {

constexpr const char* kInitSentence =
    "Initializer of the weights, as in init: Kaiming. Default: Kaiming before a rectifier (Rectlin, PReLU, Explin, "
    "Gelu, "
    "Swish and their like), otherwise GlorotUniform.";

constexpr const char* kProductInitSentence = "Initializer of the weights, as in init: Kaiming. Default: GlorotUniform.";

// The weights that a default fills.
enum class WeightUse {
  rectified,  // weights before a rectifier: Kaiming
  product,    // weights of any other matrix product: GlorotUniform
  table,      // rows of tokens or positions: Gaussian of deviation 0.02, as in GPT-2 and BERT
  machine,    // weights of a Boltzmann machine: Gaussian of deviation 0.01 (Hinton 2012)
  signs,      // real weights of which only the signs count: Uniform from -1 to 1
  shift,      // numbers that are added: 0
};

// `given` itself, or the default for weights of that use.
Made<Initializer> init_or_default(const Made<Initializer>& given, WeightUse use);
// The same for weights before that activation.
Made<Initializer> init_before(const Made<Activation>& activation, const Made<Initializer>& given);

// The default that `used` is, as a spec has it, or "" where a spec gave it: "Gaussian: {scale: 0.02}".
std::string text_of_default(const Initializer* used);

}  // namespace neon
