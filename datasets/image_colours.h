// Colours of decoded images, brought to the channels that a net takes.
#pragma once
#include <string>

#include "datasets/image_size.h"
#include "neon/core/tensor.h"

namespace neon {

// The grey of libjpeg: Y by ITU-R BT.601 in 16 bits.
inline uint8_t grey_of(unsigned red, unsigned green, unsigned blue) {
  return uint8_t((19595u * red + 38470u * green + 7471u * blue + 32768u) >> 16);
}
// (H,W,3) u8 -> (H,W,1)
Tensor grey_of(const Tensor& rgb);

// x (H,W,C + 1) u8, whose last channel is the opacity -> (H,W,C) on black. Numbers are taken as they are shown, as
// programs that show images do.
Tensor on_black(const Tensor& x);

// (H,W,3) u8 -> (H,W,channels). Throws a config error for channels that are neither 1 nor 3.
Tensor with_channels(Tensor rgb, int channels, const std::string& source);

// Throws a data error for a size below 1, or more than kMostPixels.
ImageSize checked_size(int64_t width, int64_t height, const std::string& source);

}  // namespace neon
