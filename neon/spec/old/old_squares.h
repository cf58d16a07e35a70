// Flat units before a layer of images were one square feature map in neon 0.9.
#pragma once
#include <optional>

#include "neon/spec/old/old_translation.h"

namespace neon {

bool is_old_local(const Setting& layer);

// Adds a layer to the list behind `flat` units, where these are known and no images. A Reshape goes before a layer of
// images, also in the branches of the layer. Returns the units behind the layer.
std::optional<int64_t> add_behind_units(OldTranslation& t, Setting layer, std::optional<int64_t> flat,
                                        const Location& where, Setting& layers);

}  // namespace neon
