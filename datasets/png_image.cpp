#include "datasets/png_image.h"

#include <png.h>

#include <vector>

namespace neon {

namespace {

constexpr int64_t kMostPixels = int64_t(1) << 26;

}  // namespace

bool is_png(std::string_view bytes) { return bytes.starts_with("\x89PNG\r\n\x1a\n"); }

Tensor read_png(std::string_view bytes, int channels, const std::string& source) {
  if (channels != 1 && channels != 3)
    fail(ErrorKind::config, source, ": an image has 1 or 3 channels, the net takes ", channels);
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  if (!png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()))
    fail(ErrorKind::data, source, ": no readable PNG: ", image.message);
  const int64_t height = image.height, width = image.width;
  if (height * width > kMostPixels) {
    png_image_free(&image);
    fail(ErrorKind::data, source, ": ", width, " x ", height, " pixels are more than ", kMostPixels);
  }
  image.format = channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  std::vector<png_byte> pixels(PNG_IMAGE_SIZE(image));
  const png_color black{0, 0, 0};
  if (!png_image_finish_read(&image, &black, pixels.data(), 0, nullptr))
    fail(ErrorKind::data, source, ": damaged PNG: ", image.message);
  Tensor out(DType::u8, {channels, height, width});
  auto* planes = static_cast<uint8_t*>(out.data());
  for (int64_t i = 0; i < height * width; ++i)
    for (int c = 0; c < channels; ++c) planes[c * height * width + i] = pixels[size_t(i * channels + c)];
  return out;
}

}  // namespace neon
