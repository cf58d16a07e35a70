// JPEG images as samples.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "datasets/resize.h"
#include "neon/core/tensor.h"

namespace neon {

bool is_jpeg(std::string_view bytes);

// From the header alone.
ImageSize jpeg_size(std::string_view bytes, const std::string& source);

// (H, W, channels) u8: 1 channel is grey, 3 are RGB. Where the shorter side is at least twice `least_side` (above 0),
// the image is decoded at 1/2, 1/4 or 1/8 of its size, so that the shorter side is still at least that. Throws a data
// error that names `source` for what is no JPEG, damaged or truncated (libjpeg only warns of that, and makes the rest
// up), of four colours (CMYK), or of more than 2^26 pixels.
Tensor read_jpeg(std::string_view bytes, int channels, int64_t least_side, const std::string& source);

// The same, resized to the middle of `least_side` (above 0) where it has another size than wanted, to where its pixels
// belong; its size, and where that is another than wanted, nothing is written.
ImageSize read_jpeg_to(std::string_view bytes, int channels, int64_t least_side, const std::string& source,
                       const ImageSize& wanted, std::span<uint8_t> to, Resizer& resizer);

}  // namespace neon
