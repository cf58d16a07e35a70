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

// rgb (n,3) -> to (n), the grey of libjpeg: Y by ITU-R BT.601 in 16 bits. libpng's own would be the luminance of light,
// which is another for all colours: of a folder of both kinds of files one picture would be two.
void make_grey(const Tensor& rgb, Tensor& to) {
  const auto from = rgb.as<uint8_t>();
  const auto grey = to.as<uint8_t>();
  for (size_t i = 0; i < grey.size(); ++i)
    grey[i] = uint8_t((19595u * from[3 * i] + 38470u * from[3 * i + 1] + 7471u * from[3 * i + 2] + 32768u) >> 16);
}

// x (n,channels + 1), the last of which is how much of the colour is seen -> (n,channels), the rest being black.
// Numbers are taken as they are shown, as programs that show images do; libpng would mix intensities of light.
void lay_on_black(const Tensor& x, Tensor& to) {
  const auto from = x.as<uint8_t>();
  const auto out = to.as<uint8_t>();
  const auto channels = size_t(to.shape()[2]);
  for (size_t pixel = 0; pixel < out.size() / channels; ++pixel) {
    const unsigned seen = from[pixel * (channels + 1) + channels];
    for (size_t c = 0; c < channels; ++c)
      out[pixel * channels + c] = uint8_t((from[pixel * (channels + 1) + c] * seen + 127) / 255);
  }
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
  const int64_t height = image.height, width = image.width;
  const int read = image.format & PNG_FORMAT_FLAG_COLOR ? 3 : channels;
  const bool transparent = image.format & PNG_FORMAT_FLAG_ALPHA;
  image.format = (read == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB) | (transparent ? PNG_FORMAT_FLAG_ALPHA : 0u);
  Tensor pixels(DType::u8, {height, width, read + transparent});
  if (!png_image_finish_read(&image, nullptr, pixels.data(), 0, nullptr))
    fail(ErrorKind::data, source, ": damaged PNG: ", image.message);
  Tensor out = transparent ? Tensor(DType::u8, {height, width, read}) : pixels;
  if (transparent) lay_on_black(pixels, out);
  if (read == channels) return out;
  Tensor grey(DType::u8, {height, width, 1});
  make_grey(out, grey);
  return grey;
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
