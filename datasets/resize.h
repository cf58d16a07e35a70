// Images brought to another size.
#pragma once
#include <span>

#include "datasets/image_size.h"
#include "neon/core/tensor.h"

namespace neon {

// x (H,W,C) u8 -> (height,width,C): each pixel is the mean of those about its place, weighted by a triangle that
// reaches to its neighbours' places, or of one pixel of x where that is farther. Sums are in f32 and rounded to the
// nearest.
Tensor resized(const Tensor& x, int64_t height, int64_t width);

// Columns of an image.
struct Columns {
  int64_t first = 0, count = 0;
};

// The middle of x (H,W,C), once its shorter side is `side` long and the other the nearest that keeps the shape, as
// (side,side,C). Of x there may be some columns only: those that columns_of_middle() names.
void resize_middle(const uint8_t* x, const ImageSize& size, const Columns& there, int64_t channels, int64_t side,
                   std::span<uint8_t> to);
Columns columns_of_middle(const ImageSize& size, int64_t side);

}  // namespace neon
