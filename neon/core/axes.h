// The meaning of the axes of an array. A rank alone does not say it: (N,28,28) may be images or sequences.
#pragma once
#include <cstdint>
#include <vector>

namespace neon {

// `feature` is an axis of numbers without neighbours, `channel` that of an image or volume.
enum class Axis : uint8_t { sample, time, feature, channel, depth, height, width };
using Axes = std::vector<Axis>;

}  // namespace neon
