// Data sets of neon 1.x, which were named by a key among their options.
#pragma once
#include "neon/spec/conversion.h"

namespace neon {

// dataset: {name: mnist, path: DIR}, or the name alone, to MNIST with drawn digits as its fallback, and the folder to
// an option of the run. i1k, ImageNet, becomes Shards,
// with the crops and means that its loaders had; a note says how the shards are made. Other names stay as they are.
void convert_older_dataset(Setting& root, Conversion& conversion, std::vector<std::string>& notes, Problems& problems);

}  // namespace neon
