// WebP images, by Google's library (Debian: libwebp-dev).
#ifdef NEON_HAVE_WEBP
#include <webp/decode.h>
#endif

#include "datasets/image_colours.h"
#include "datasets/image_kinds.h"
#include "datasets/image_part.h"

namespace neon {

namespace {

#ifdef NEON_HAVE_WEBP

const uint8_t* data_of(std::string_view bytes) { return reinterpret_cast<const uint8_t*>(bytes.data()); }

WebPBitstreamFeatures webp_features(std::string_view bytes, const std::string& source) {
  WebPBitstreamFeatures out;
  if (WebPGetFeatures(data_of(bytes), bytes.size(), &out) != VP8_STATUS_OK)
    fail(ErrorKind::data, source, ": no readable WebP: its header is damaged");
  if (out.has_animation)
    fail(ErrorKind::data, source, ": is an animated WebP; convert the frame that counts to an image");
  checked_size(out.width, out.height, source);
  return out;
}

ImageSize webp_size(std::string_view bytes, const std::string& source) {
  const WebPBitstreamFeatures found = webp_features(bytes, source);
  return {found.height, found.width};
}

Tensor read_webp(std::string_view bytes, int channels, const std::string& source) {
  const WebPBitstreamFeatures found = webp_features(bytes, source);
  const int stored = found.has_alpha ? 4 : 3;
  Tensor pixels(DType::u8, {found.height, found.width, stored});
  const auto decode = found.has_alpha ? WebPDecodeRGBAInto : WebPDecodeRGBInto;
  auto* const to = pixels.as<uint8_t>().data();
  if (!decode(data_of(bytes), bytes.size(), to, pixels.bytes(), found.width * stored))
    fail(ErrorKind::data, source, ": damaged WebP: its pixels cannot be decoded");
  return with_channels(found.has_alpha ? on_black(pixels) : std::move(pixels), channels, source);
}

#else

ImageSize webp_size(std::string_view, const std::string& source) {
  fail_missing_library(source, "WebP", "libwebp-dev");
}
Tensor read_webp(std::string_view, int, const std::string& source) {
  fail_missing_library(source, "WebP", "libwebp-dev");
}

#endif

}  // namespace

const ImageDecoder kWebpDecoder = {webp_size, read_webp};

}  // namespace neon
