// Whatever bytes stand in an .npy or .npz file, reading it gives arrays or a data error.
#include <cstddef>
#include <cstdint>

#include "datasets/npy.h"

namespace {

void read_archive(const neon::ByteSource& source) {
  const neon::ZipArchive archive(source);
  for (const auto& member : archive.members()) {
    if (member.size > 1 << 22) continue;  // a small file may hold a thousand times its size; that is only slow
    try {
      const std::string content = archive.read(member);
      neon::read_npy(neon::MemorySource(content, "member"));
    } catch (const neon::Error& error) {
      if (error.kind() != neon::ErrorKind::data) throw;
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const neon::MemorySource source({reinterpret_cast<const char*>(data), size}, "input");
  try {
    const neon::Tensor read = neon::read_npy(source);
    NEON_ASSERT(read.bytes() <= 2 * size);
  } catch (const neon::Error& error) {
    if (error.kind() != neon::ErrorKind::data) throw;
  }
  try {
    read_archive(source);
  } catch (const neon::Error& error) {
    if (error.kind() != neon::ErrorKind::data) throw;
  }
  return 0;
}
