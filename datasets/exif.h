// How a camera was held: cameras store pixels as their sensor reads them, and beside these which side is up.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "datasets/image_size.h"

namespace neon {

// The EXIF orientation of a JPEG, 1 to 8; 1, upright, where the file has none that can be read.
int exif_orientation(std::string_view jpeg);

// The size of the upright image of a stored one.
ImageSize upright_size(const ImageSize& stored, int orientation);

// The pixels (H,W,channels) of a stored image, upright.
void set_upright(std::span<const uint8_t> stored, const ImageSize& size, int64_t channels, int orientation,
                 std::span<uint8_t> upright);

}  // namespace neon
