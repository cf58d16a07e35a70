// Whatever bytes stand in a shard, reading it gives contents whose checksums are right, or a data error.
#include <cstddef>
#include <cstdint>

#include "datasets/shard.h"
#include "neon/core/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const neon::Shard shard(
        std::make_unique<neon::MemorySource>(std::string_view(reinterpret_cast<const char*>(data), size), "input"));
    NEON_ASSERT(size_t(shard.size()) * 24 <= size);
    for (int64_t i = 0; i < shard.size(); ++i) NEON_ASSERT(shard.label(i) >= 0 && shard.content(i).size() <= size);
  } catch (const neon::Error& error) {
    if (error.kind() != neon::ErrorKind::data) throw;
  }
  return 0;
}
