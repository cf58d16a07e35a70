// Images of any kind that is read (JPEG, PNG) as samples of one size.
#pragma once
#include <string>
#include <string_view>

#include "datasets/image_size.h"
#include "neon/core/tensor.h"

namespace neon {

// What samples are made of images.
struct ImageFormat {
  int64_t channels = 3;  // 1: grey, 3: RGB
  int64_t size = 0;      // side of the square in the middle, once the shorter side has that length; 0: as they are
};

// Whether the name is that of an image: .jpg, .jpeg, .png in capitals or not.
bool is_image_name(std::string_view name);

// From the header alone. Throws a data error that names `source`, as read_image does.
ImageSize image_size(std::string_view bytes, const std::string& source);

// (H, W, channels) u8. Throws a data error that names `source` for what is no image or a damaged one.
Tensor read_image(std::string_view bytes, const ImageFormat& format, const std::string& source);

// x (H,W,C) u8 -> (height,width,C): each pixel is the mean of those about its place, weighted by a triangle that
// reaches to its neighbours' places, or of one pixel of x where that is farther. Sums are in f32 and rounded to the
// nearest.
Tensor resized(const Tensor& x, int64_t height, int64_t width);

// The middle of x (H,W,C), as large or smaller.
Tensor centre_of(const Tensor& x, int64_t height, int64_t width);

}  // namespace neon
