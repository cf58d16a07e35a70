// The optimizers of neon 1.x's MultiOptimizer, by the names that our parameters have.
#pragma once
#include <string>
#include <vector>

#include "neon/core/setting.h"

namespace neon {

// `params` are those of a MultiOptimizer in the spec `root`. Optimizers are left out with a note for classes of
// parameters that the net lacks. LookupTable becomes Embedding. neon 1.x served all parameters of a recurrent layer by
// its name, its class or the default, and its biases never by Bias; from 2.3 on the same held of a convolution with
// biases, of the class Convolution_bias. Where this differs, the mapping gets the layer's name and NAME_bias, with a
// note, and the layer gets a name.
void convert_mapping(Setting& params, Setting& root, std::vector<std::string>& notes);

}  // namespace neon
