// Whatever bytes stand in a BMP, GIF, TIFF or WebP file, reading it gives an image of its size, or a data error.
#include <cstddef>
#include <cstdint>

#include "datasets/image_kinds.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const neon::ImageKind* const kind = neon::image_kind_of(bytes);
  if (!kind) return 0;
  for (int channels : {1, 3}) {
    try {
      const neon::ImageSize wanted = kind->size(bytes, "input");
      if (wanted.height * wanted.width > 1 << 20) return 0;  // pixels that are not there: only slow
      const neon::Tensor read = kind->read(bytes, channels, "input");
      NEON_ASSERT(read.shape() == neon::Shape({wanted.height, wanted.width, channels}));
    } catch (const neon::Error& error) {
      if (error.kind() != neon::ErrorKind::data) throw;
    }
  }
  return 0;
}
