// PNG images as samples.
#pragma once
#include <string>
#include <string_view>

#include "datasets/image_size.h"
#include "neon/core/tensor.h"

namespace neon {

bool is_png(std::string_view bytes);

// From the header alone.
ImageSize png_size(std::string_view bytes, const std::string& source);

// (H, W, channels) u8: 1 channel is grey, 3 are RGB; colours are converted, transparency lies on black. Throws a data
// error that names `source` for a damaged file or more than 2^26 pixels.
Tensor read_png(std::string_view bytes, int channels, const std::string& source);

// Image (H,W,C) u8 of 1 or 3 channels as the bytes of a file, and as a file.
std::string png_bytes(const Tensor& image);
void write_png(const Tensor& image, const std::string& path);

}  // namespace neon
