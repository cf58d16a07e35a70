// Decoders of images by libraries (libpng, libjpeg, giflib, libtiff, libwebp), in a module of their own: the libraries
// and what they need take two milliseconds to load.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "datasets/image_size.h"
#include "datasets/resize.h"
#include "neon/core/part.h"
#include "neon/core/tensor.h"

namespace neon {

// As those of ImageKind.
struct ImageDecoder {
  ImageSize (*size)(std::string_view bytes, const std::string& source);
  Tensor (*read)(std::string_view bytes, int channels, const std::string& source);
};

struct ImagePart {
  static constexpr PartName kName = {"images", "images need", "libpng-dev libjpeg-dev"};
  ImageDecoder png, gif, tiff, webp;
  std::string (*png_bytes)(const Tensor& image);
  void (*write_png)(const Tensor& image, const std::string& path);
  // As those of jpeg_image.h.
  ImageSize (*jpeg_size)(std::string_view bytes, const std::string& source);
  Tensor (*read_jpeg)(std::string_view bytes, int channels, int64_t denominator, const std::string& source);
  ImageSize (*read_jpeg_to)(std::string_view bytes, int channels, const SampleSize& middle, const std::string& source,
                            const ImageSize& wanted, std::span<uint8_t> to, Resizer& resizer);
};

// Decoders in the module's files, for its table.
extern const ImageDecoder kPngDecoder, kGifDecoder, kTiffDecoder, kWebpDecoder;
std::string encode_png(const Tensor& image);
void write_png_file(const Tensor& image, const std::string& path);

}  // namespace neon
