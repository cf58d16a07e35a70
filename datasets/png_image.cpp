#include "datasets/png_image.h"

#include <png.h>

namespace neon {

namespace {

void read_header(png_image& image, std::string_view bytes, const std::string& source) {
  image.version = PNG_IMAGE_VERSION;
  if (!png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()))
    fail(ErrorKind::data, source, ": no readable PNG: ", image.message);
  const int64_t height = image.height, width = image.width;
  if (height * width <= kMostPixels) return;
  png_image_free(&image);
  fail(ErrorKind::data, source, ": ", width, " x ", height, " pixels are more than ", kMostPixels);
}

}  // namespace

bool is_png(std::string_view bytes) { return bytes.starts_with("\x89PNG\r\n\x1a\n"); }

ImageSize png_size(std::string_view bytes, const std::string& source) {
  png_image image{};
  read_header(image, bytes, source);
  png_image_free(&image);
  return {int64_t(image.height), int64_t(image.width)};
}

Tensor read_png(std::string_view bytes, int channels, const std::string& source) {
  if (channels != 1 && channels != 3)
    fail(ErrorKind::config, source, ": an image has 1 or 3 channels, the net takes ", channels);
  png_image image{};
  read_header(image, bytes, source);
  image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;  // 16 bits are taken as 8 bits are, not as intensities of light
  image.format = channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  Tensor out(DType::u8, {int64_t(image.height), int64_t(image.width), channels});
  const png_color black{0, 0, 0};
  if (!png_image_finish_read(&image, &black, out.data(), 0, nullptr))
    fail(ErrorKind::data, source, ": damaged PNG: ", image.message);
  return out;
}

void write_png(const Tensor& image, const std::string& path) {
  png_image written{};
  written.version = PNG_IMAGE_VERSION;
  written.height = png_uint_32(image.shape()[0]);
  written.width = png_uint_32(image.shape()[1]);
  written.format = image.shape()[2] == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  if (!png_image_write_to_file(&written, path.c_str(), 0, image.data(), 0, nullptr))
    fail(ErrorKind::failed, path, ": cannot be written: ", written.message);
}

}  // namespace neon
