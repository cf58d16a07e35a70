// Images of any kind that is read (JPEG, PNG, BMP, GIF, TIFF, WebP) as samples of one size.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/resize.h"
#include "neon/core/tensor.h"

namespace neon {

// How images become samples.
struct ImageFormat {
  int64_t channels = 3;  // 1: grey, 3: RGB
  SampleSize size;       // of the middle, once the image is just large enough to cover it; not given: as they are
};

// Whether the name is that of an image: it has one of the endings, in capitals or not.
bool is_image_name(std::string_view name);
std::vector<std::string> image_endings();  // ".jpg", ".jpeg", ".png" ...
std::string image_endings_text();          // ".jpg, .jpeg ... or .webp"

// Throws a failed error where neon's module of image libraries is missing. Loops that count images as bad call this
// first.
void need_image_library();

// Whether the file begins as one of an image.
bool is_image(std::string_view bytes);

// From the header alone. Throws a data error that names `source`, as read_image does.
ImageSize image_size(std::string_view bytes, const std::string& source);

// (H, W, channels) u8. Throws a data error that names `source` for what is no image or a damaged one.
Tensor read_image(std::string_view bytes, const ImageFormat& format, const std::string& source);

// The same into `to`, which has room for an image of size `wanted`. Returns the image's size; if it is another than
// `wanted`, nothing is written.
ImageSize read_image_to(std::string_view bytes, const ImageFormat& format, const std::string& source,
                        const ImageSize& wanted, std::span<uint8_t> to, Resizer& resizer);

}  // namespace neon
