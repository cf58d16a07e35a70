// Sizes behind the layers of neon 0.9. Flat units before a layer of images were one square feature map.
#pragma once
#include <vector>

#include "neon/spec/old/old_translation.h"

namespace neon {

bool is_old_local(const Setting& layer);

// {units} or {maps, height, width}; empty where unknown.
using OldSizes = std::vector<int64_t>;
// The sizes of a sample, as the data layer gives them.
OldSizes old_data_sizes(const OldTranslation& t);

// Adds a layer to the list behind one of these sizes. A Reshape goes before a layer of images behind units, also in the
// branches of the layer; a convolution without nofm gets as many maps as its input has. Returns the sizes behind it.
OldSizes add_behind(OldTranslation& t, Setting layer, const OldSizes& before, const Location& where, Setting& layers);

}  // namespace neon
