// Whatever bytes stand in a PNG file, reading it gives an image of the pixels that it says, or a data error.
#include <cstddef>
#include <cstdint>

#include "datasets/png_image.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  // A header may say 2^26 pixels that are not there: only slow. Width and height stand at bytes 16 to 23.
  if (size >= 24 && (data[16] || data[17] || data[18] > 3 || data[20] || data[21] || data[22] > 3)) return 0;
  for (int channels : {1, 3}) {
    try {
      const neon::Tensor read = neon::read_png(bytes, channels, "input");
      NEON_ASSERT(neon::is_png(bytes) && read.shape().rank() == 3 && read.shape()[2] == channels);
      NEON_ASSERT(read.elements() > 0 && read.elements() < 3 << 20);
    } catch (const neon::Error& error) {
      if (error.kind() != neon::ErrorKind::data) throw;
    }
  }
  return 0;
}
