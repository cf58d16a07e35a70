// Memory on a device that belongs to no program: the array API keeps its arrays in it. Calls on it are in order with
// the runs of programs on that device.
#pragma once
#include <cstddef>
#include <memory>

namespace neon {

class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  virtual void* data() const = 0;  // its address there, a multiple of 64 at least
  virtual size_t bytes() const = 0;
  // `from` may change again once this returns.
  virtual void upload(const void* from, size_t bytes, size_t offset) = 0;
  // Waits for all runs before.
  virtual void download(void* to, size_t bytes, size_t offset) const = 0;
  // From memory of the same device.
  virtual void copy(const DeviceMemory& from, size_t from_offset, size_t bytes, size_t offset) = 0;
};

// Memory of the CPU. Its contents are undefined at first.
std::shared_ptr<DeviceMemory> make_host_memory(size_t bytes);

}  // namespace neon
