// Whatever bytes stand in a JPEG or PNG file, reading it gives an image of the size that its header and the format say,
// or a data error.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "datasets/image.h"

using neon::ImageFormat, neon::ImageSize;

namespace {

// Of the image in `bytes`, as it is said to be.
ImageSize told_size(std::string_view bytes, const ImageFormat& format) {
  const ImageSize told = neon::image_size(bytes, "input");
  NEON_ASSERT(told.height > 0 && told.width > 0);
  return format.size.given() ? ImageSize(format.size) : told;
}

void read(std::string_view bytes, const ImageFormat& format) {
  const ImageSize wanted = told_size(bytes, format);
  const neon::Tensor image = neon::read_image(bytes, format, "input");
  NEON_ASSERT((image.shape() == neon::Shape{wanted.height, wanted.width, format.channels}));
}

// As a stream of batches does, which resizes while it decodes, one image after another.
void read_in_place(std::string_view bytes, const ImageFormat& format) {
  static neon::Resizer resizer;
  const ImageSize wanted = told_size(bytes, format);
  std::vector<uint8_t> pixels(size_t(wanted.height * wanted.width * format.channels));
  NEON_ASSERT(neon::read_image_to(bytes, format, "input", wanted, pixels, resizer) == wanted);
}

bool is_slow(std::string_view bytes) {
  const ImageSize told = neon::image_size(bytes, "input");
  const int64_t longer = std::max(told.height, told.width), shorter = std::min(told.height, told.width);
  return longer * shorter > 1 << 20 || longer > 64 * shorter;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const ImageFormat& format : {ImageFormat{3, 0}, {1, 0}, {3, 24}, {1, 24}})
    for (auto* const way : {read, read_in_place}) try {
        if (is_slow(bytes)) return 0;
        way(bytes, format);
      } catch (const neon::Error& error) {
        if (error.kind() != neon::ErrorKind::data) throw;
      }
  return 0;
}
