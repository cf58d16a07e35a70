// Image files of known pixels, written byte by byte.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "neon/core/tensor.h"

namespace neon_test {

using Palette = std::vector<std::array<uint8_t, 3>>;

// So many low bytes of a number, the lowest first.
std::string low_bytes(uint64_t number, int count);

// A BMP of rows from below, which the caller has packed. `after_header`: masks and palette.
std::string bmp_of(int width, int height, int bits, uint32_t storage, const std::string& after_header,
                   const std::string& pixels, int colours = 0);
std::string bmp_palette(const Palette& palette);
// 24 bits, of image (H,W,3).
std::string bmp_of(const neon::Tensor& image);

struct GifPlace {
  int width, height, left = 0, top = 0;  // of the canvas; the frame's place in it
  bool interlaced = false;
  int transparent = -1;
};
// One frame of these indices (H,W), its rows in order. LZW codes are cleared so often that they stay of 9 bits.
std::string gif_of(const std::vector<uint8_t>& indices, int width, int height, const Palette& palette, GifPlace place);

// Plain TIFF of image (H,W,C): 1 channel grey, 3 RGB, 4 with opacity.
std::string tiff_of(const neon::Tensor& image, int orientation = 1);

}  // namespace neon_test
