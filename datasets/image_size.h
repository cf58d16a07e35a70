// How large an image may be.
#pragma once
#include "neon/core/sample_size.h"

namespace neon {

// A few bytes can declare an image of terabytes; do not ask memory for that.
constexpr int64_t kMostPixels = int64_t(1) << 26;

}  // namespace neon
