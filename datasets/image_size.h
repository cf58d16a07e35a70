// How large an image is, and may be.
#pragma once
#include <cstdint>

namespace neon {

struct ImageSize {
  int64_t height = 0, width = 0;
  bool operator==(const ImageSize&) const = default;
};

// A few bytes can declare an image of terabytes; do not ask memory for that.
constexpr int64_t kMostPixels = int64_t(1) << 26;

}  // namespace neon
