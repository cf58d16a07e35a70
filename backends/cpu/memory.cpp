#include "backends/memory.h"

#include <cstring>

#include "neon/core/tensor.h"

namespace neon {

namespace {

class HostMemory : public DeviceMemory {
 public:
  explicit HostMemory(size_t bytes) : bytes_(DType::u8, {int64_t(bytes)}) {}
  void* data() const override { return const_cast<void*>(bytes_.data()); }
  size_t bytes() const override { return bytes_.bytes(); }
  void upload(const void* from, size_t bytes, size_t offset) override { move(at(offset), from, bytes); }
  void download(void* to, size_t bytes, size_t offset) const override { move(to, at(offset), bytes); }
  void copy(const DeviceMemory& from, size_t from_offset, size_t bytes, size_t offset) override {
    move(at(offset), static_cast<const std::byte*>(from.data()) + from_offset, bytes);
  }

 private:
  std::byte* at(size_t offset) const { return static_cast<std::byte*>(data()) + offset; }
  static void move(void* to, const void* from, size_t bytes) {
    if (bytes) std::memmove(to, from, bytes);
  }
  Tensor bytes_;
};

}  // namespace

std::shared_ptr<DeviceMemory> make_host_memory(size_t bytes) { return std::make_shared<HostMemory>(bytes); }

}  // namespace neon
