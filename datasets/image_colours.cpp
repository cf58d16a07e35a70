#include "datasets/image_colours.h"

namespace neon {

// libpng's own grey is the luminance of light, which differs for all colours; a picture would differ as JPEG and as
// PNG.
Tensor grey_of(const Tensor& rgb) {
  Tensor out(DType::u8, {rgb.shape()[0], rgb.shape()[1], 1});
  const auto from = rgb.as<uint8_t>();
  const auto grey = out.as<uint8_t>();
  for (size_t i = 0; i < grey.size(); ++i) grey[i] = grey_of(from[3 * i], from[3 * i + 1], from[3 * i + 2]);
  return out;
}

Tensor on_black(const Tensor& x) {
  const auto channels = size_t(x.shape()[2] - 1);
  Tensor out(DType::u8, {x.shape()[0], x.shape()[1], int64_t(channels)});
  const auto from = x.as<uint8_t>();
  const auto to = out.as<uint8_t>();
  for (size_t pixel = 0; pixel < to.size() / channels; ++pixel) {
    const unsigned opacity = from[pixel * (channels + 1) + channels];
    for (size_t c = 0; c < channels; ++c)
      to[pixel * channels + c] = uint8_t((from[pixel * (channels + 1) + c] * opacity + 127) / 255);
  }
  return out;
}

Tensor with_channels(Tensor rgb, int channels, const std::string& source) {
  if (channels != 1 && channels != 3)
    fail(ErrorKind::config, source, ": an image has 1 or 3 channels, the net takes ", channels);
  return channels == 3 ? std::move(rgb) : grey_of(rgb);
}

ImageSize checked_size(int64_t width, int64_t height, const std::string& source) {
  if (width < 1 || height < 1 || width > kMostPixels || height > kMostPixels)
    fail(ErrorKind::data, source, ": ", width, " x ", height, " pixels are no image");
  if (width * height > kMostPixels)
    fail(ErrorKind::data, source, ": ", width, " x ", height, " pixels are more than ", kMostPixels);
  return {height, width};
}

}  // namespace neon
