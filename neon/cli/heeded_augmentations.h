// Whether an evaluation of images heeds a change of the spec's augmentations.
#pragma once
#include <string>

#include "datasets/dataset.h"
#include "neon/core/params.h"

namespace neon {

// The part of `now` that differs from `then` although evaluations of `images` are the same with either: "[0].pad" for
// a parameter of an augmentation, "" for the list as a whole. Null where all parts that differ count, or none differs.
// Both are the `augment` of a spec with all parameters.
std::optional<std::string> unheeded_augmentation(const Setting& now, const Setting& then, const SampleMeaning& images);

}  // namespace neon
