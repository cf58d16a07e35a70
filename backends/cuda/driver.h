// CUDA's driver: checked calls, the device, its memory. One stream takes all work, so that what one program writes is
// there for the next.
#pragma once
#include <cuda.h>

#include <atomic>
#include <memory>
#include <string>

namespace neon::cuda {

// Throws with what was being done and CUDA's words: ErrorKind::memory when memory ran out, else ErrorKind::device.
void check(CUresult result, const std::string& doing);

class Device {
 public:
  explicit Device(int index);
  ~Device();
  Device(const Device&) = delete;
  void make_current() const { check(cuCtxSetCurrent(context_), "using the GPU"); }
  CUstream stream() const { return stream_; }
  int arch() const { return arch_; }  // 90
  const std::string& name() const { return name_; }
  int processors() const { return processors_; }
  size_t bytes() const { return bytes_; }  // of memory, free or not
  void wait(const std::string& what) const { check(cuStreamSynchronize(stream_), what); }
  size_t free_bytes() const;
  // Of Memory, at most at any time.
  size_t peak_bytes() const { return peak_bytes_; }

 private:
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  int arch_ = 0, processors_ = 0;
  size_t bytes_ = 0;
  std::string name_;
  friend class Memory;
  std::atomic<size_t> held_bytes_ = 0, peak_bytes_ = 0;
};

// Memory on the device, zero at first.
class Memory {
 public:
  Memory() = default;
  // `what` is for the message when there is no room.
  Memory(std::shared_ptr<Device> device, size_t bytes, const std::string& what);
  ~Memory() { release(); }
  Memory(Memory&& other) noexcept { swap(other); }
  Memory& operator=(Memory&& other) noexcept {
    swap(other);
    return *this;
  }
  void* data() const { return reinterpret_cast<void*>(address_); }
  CUdeviceptr address() const { return address_; }
  size_t bytes() const { return bytes_; }
  // From pageable memory, which may change again once this returns.
  void upload(const void* from, size_t bytes, size_t offset = 0) const;
  // Waits for all work before.
  void download(void* to, size_t bytes, size_t offset = 0) const;

 private:
  void swap(Memory& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
  }
  void release() noexcept;
  std::shared_ptr<Device> device_;
  CUdeviceptr address_ = 0;
  size_t bytes_ = 0;
};

}  // namespace neon::cuda
