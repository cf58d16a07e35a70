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

// (H, W, channels) u8: 1 channel is grey, 3 are RGB; colours of print (CMYK) become these. With a denominator of 2, 4
// or 8 one pixel stands for that many each way; the last may have fewer. Throws a data error that names `source` for
// what is no JPEG, damaged or truncated (libjpeg only warns of that, and makes the rest up), or of more than 2^26
// pixels.
Tensor read_jpeg(std::string_view bytes, int channels, int64_t denominator, const std::string& source);

// The largest denominator that leaves both sides as many pixels as wanted; 1 where no size is given.
int64_t jpeg_denominator(const ImageSize& size, const SampleSize& wanted);

// The same into `to`. Where a middle is given, it is of that size, by way of the smaller image; otherwise the image as
// it is. Returns its size; if that is another than wanted, nothing is written.
ImageSize read_jpeg_to(std::string_view bytes, int channels, const SampleSize& middle, const std::string& source,
                       const ImageSize& wanted, std::span<uint8_t> to, Resizer& resizer);

}  // namespace neon
