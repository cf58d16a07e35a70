// How a camera was held: cameras store pixels as their sensor reads them, and beside these which side is up.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "datasets/image_size.h"
#include "neon/core/tensor.h"

namespace neon {

// The EXIF orientation of a JPEG, PNG or WebP, 1 to 8; 1, upright, where the file has none that can be read. Readers of
// TIFF turn images by themselves.
int exif_orientation(std::string_view image);

// The size of the upright image of a stored one.
ImageSize upright_size(const ImageSize& stored, int orientation);

// (H,W,channels)
Tensor upright(const Tensor& stored, int orientation);

// The pixels (H,W,channels) of a stored image, upright.
void set_upright(std::span<const uint8_t> stored, const ImageSize& size, int64_t channels, int orientation,
                 std::span<uint8_t> upright);

}  // namespace neon
