// Sizes of images.
#pragma once
#include "neon/core/params.h"

namespace neon {

struct ImageSize {
  int64_t height = 0, width = 0;
  bool operator==(const ImageSize&) const = default;
};

// The size that images are brought to, a square of a lone side; 0: they keep their own.
struct SampleSize : ImageSize {
  SampleSize() = default;
  SampleSize(int64_t side) : ImageSize{side, side} {}  // converts, so that a side stands for a square
  SampleSize(int64_t h, int64_t w) : ImageSize{h, w} {}
  bool given() const { return height > 0; }
  bool is_square() const { return height == width; }
  // "64" or "[48, 64]", as a spec has it.
  std::string to_string() const {
    if (is_square()) return std::to_string(height);
    return "[" + std::to_string(height) + ", " + std::to_string(width) + "]";
  }
};

template <>
struct Value_of<SampleSize> {
  static std::string type() { return "integer, or [height, width]"; }
  static void read(const Setting& from, SampleSize& out, const Constraint& constraint, Problems& problems);
  static Setting write(const SampleSize& value);
};

}  // namespace neon
