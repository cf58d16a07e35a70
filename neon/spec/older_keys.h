// Parameters of neon 0.9's and 1.x's layers and optimizers that ours lack.
#pragma once
#include <string>
#include <vector>

#include "neon/spec/conversion.h"

namespace neon {

// `bsum`, `parallelism` and a BatchNorm's `binary: false`, which said how to compute rather than what, are left out of
// layers with a note; clip_gradients and gradient_limit of 1.0's RMSProp and Adagrad become gradient_clip_value, or are
// left out with a note where they clipped nothing. RMSProp, Adagrad and
// Adam that have gradient_clip_norm get clip_step, GlorotUniform gets matrix, Kaiming and Xavier local, each with a
// note. A parameter without a value was Python's None, the default of those that may have it: it is left out, too.
// Optimizers of a mapping are left out with a note for classes of parameters that the net lacks. A bias beside 1.0's
// batch norm is left out, which changes no output. stochastic_round becomes the run's option.
void convert_older_keys(Setting& root, const std::string& notation, Conversion& conversion,
                        std::vector<std::string>& notes);

// Parameters of neon 0.9's layers that are layers of their own today: local_conv of a convolution, and maxout of a
// pooling. A problem each, with what to write.
void check_oldest_keys(Setting& root, Problems& problems);

}  // namespace neon
