// Crops and resampled boxes of images, see ops_images.cpp.
#pragma once
#include "backends/graph/expression.h"

namespace neon {

// The pixels beyond an image: zeros; the image mirrored in its outermost pixels, which are not repeated; or the
// outermost pixels again.
enum class Border { zero, reflect, edge };

struct ImageArea {
  int64_t height = 0, width = 0;
  bool operator==(const ImageArea&) const = default;
};

// `indices` may be an invalid Value.
Value crop(Graph& graph, Value data, Value place, Value indices, ImageArea area, Border border);
// How a place between pixels is filled in.
enum class Sampling { linear, nearest };
Value resample(Graph& graph, Value data, Value box, Value indices, ImageArea area,
               Sampling sampling = Sampling::linear);

// Numbers of a box that leans; others have four.
constexpr int64_t kLeaningBox = 6;

// Whether a resample does.
bool takes_nearest(const Attributes& attributes);

// The place in 0 .. size - 1 whose pixel stands for place `at`; -1: a zero.
int64_t inside(int64_t at, int64_t size, Border border);

}  // namespace neon
