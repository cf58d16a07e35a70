// Whatever bytes stand in a tar archive, reading it gives files whose names stay inside and whose contents have the
// size that was told, or a data error.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "datasets/tar.h"
#include "neon/core/error.h"

namespace {

class Memory : public neon::ByteStream {
 public:
  Memory(const uint8_t* data, size_t size) : ByteStream("input"), data_(data), left_(size) {}
  size_t read(void* to, size_t size) override {
    const size_t count = size < left_ ? size : left_;
    if (count) std::memcpy(to, data_, count);
    data_ += count;
    left_ -= count;
    return count;
  }

 private:
  const uint8_t* data_;
  size_t left_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  for (bool reads : {true, false}) try {
      neon::TarReader tar(std::make_unique<Memory>(data, size));
      while (tar.next()) {
        const std::string& name = tar.name();
        NEON_ASSERT(!name.starts_with('/') && name != ".." && !name.starts_with("../") && !name.ends_with("/.."));
        NEON_ASSERT(name.find("/../") == name.npos && name.find('\0') == name.npos && tar.size() >= 0);
        if (!reads) continue;
        const auto told = tar.size();
        NEON_ASSERT(int64_t(tar.content(1 << 20).size()) == told);
      }
    } catch (const neon::Error& error) {
      if (error.kind() != neon::ErrorKind::data) throw;
    }
  return 0;
}
