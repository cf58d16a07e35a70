// Whatever bytes stand in a JPEG or PNG file, reading it gives an image of the size that its header and the format say,
// or a data error.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "datasets/image.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const neon::ImageFormat& format : {neon::ImageFormat{3, 0}, {1, 0}, {3, 24}}) try {
      const neon::ImageSize told = neon::image_size(bytes, "input");
      NEON_ASSERT(told.height > 0 && told.width > 0);
      if (told.height * told.width > 1 << 20) return 0;  // only slow
      if (format.size && std::max(told.height, told.width) > 64 * std::min(told.height, told.width)) return 0;
      const neon::Tensor image = neon::read_image(bytes, format, "input");
      const int64_t height = format.size ? format.size : told.height, width = format.size ? format.size : told.width;
      NEON_ASSERT((image.shape() == neon::Shape{height, width, format.channels}));
    } catch (const neon::Error& error) {
      if (error.kind() != neon::ErrorKind::data) throw;
    }
  return 0;
}
