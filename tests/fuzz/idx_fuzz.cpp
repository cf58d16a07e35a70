// Whatever bytes stand in an IDX file, reading it gives an array or a data error.
#include <cstddef>
#include <cstdint>

#include "datasets/idx.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const neon::Tensor read = neon::parse_idx({reinterpret_cast<const char*>(data), size}, "input");
    NEON_ASSERT(read.shape().rank() > 0 && read.bytes() <= 2 * size);
  } catch (const neon::Error& error) {
    if (error.kind() != neon::ErrorKind::data) throw;
  }
  return 0;
}
