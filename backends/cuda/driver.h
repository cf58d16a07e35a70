// CUDA's driver: checked calls, the device, its memory. One stream takes all work, so that what one program writes is
// there for the next; threads that only record launches have streams of their own.
//
// A kernel that fails is heard of later, by whatever is asked of the driver next, and nothing can be done with the GPU
// any more. Which one it was can be known only if each is waited for, which NEON_GPU_WAIT=1 in the environment asks
// for.
#pragma once
#include <cuda.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "backends/ranks.h"

namespace neon::cuda {

// Throws with what was being done and CUDA's words: ErrorKind::memory when memory ran out, else ErrorKind::device.
// Where a kernel has failed, `of` says in a few words which it may have been.
void check(CUresult result, const std::string& doing, const std::string& of = "");

// The calling thread's work goes to a stream of its own, as long as this lives.
class OwnStream {
 public:
  explicit OwnStream(CUstream stream) { of_thread = stream; }
  ~OwnStream() { of_thread = nullptr; }
  OwnStream(const OwnStream&) = delete;

 private:
  friend class Device;
  static inline thread_local CUstream of_thread = nullptr;
};

class Device : public Awaited {
 public:
  explicit Device(int index);
  ~Device();
  Device(const Device&) = delete;
  void make_current() const { cuda::check(cuCtxSetCurrent(context_), "using the GPU"); }
  // For destructors: what the driver is given back must be of the GPU that the thread uses.
  void use() const noexcept { cuCtxSetCurrent(context_); }
  // Where the calling thread's work is queued: the device's stream, unless the thread has one of its own.
  CUstream stream() const { return OwnStream::of_thread ? OwnStream::of_thread : stream_; }
  int arch() const { return arch_; }  // 90
  const std::string& name() const { return name_; }
  int processors() const { return processors_; }
  size_t bytes() const { return bytes_; }  // of memory, free or not
  // The same, and a fault is that of a kernel of the program that runs.
  void check(CUresult result, const std::string& doing) const;
  void wait(const std::string& doing) const { check(cuStreamSynchronize(stream_), doing); }
  // Whether all that was queued is done.
  bool is_done() const override;
  // Sets the name of the program whose runs are sent now.
  void set_running(const std::string& name) { running_ = name; }
  // Whether each kernel is to be waited for before the next one.
  bool waits_for_kernels() const { return waits_for_kernels_; }
  size_t free_bytes() const;
  // Throws what taking so many bytes ends in where fewer are free; takes nothing.
  void expect_room(size_t bytes, const std::string& what) const;
  // The most bytes of Memory at any time.
  size_t peak_bytes() const { return peak_bytes_; }

 private:
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  int arch_ = 0, processors_ = 0;
  size_t bytes_ = 0;
  std::string name_, running_;
  bool waits_for_kernels_ = false;
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

// Memory of the host that the GPU copies from and to by itself. Left as it comes.
class Pinned {
 public:
  Pinned() = default;
  Pinned(std::shared_ptr<Device> device, size_t bytes, const std::string& what);
  ~Pinned() { release(); }
  Pinned(Pinned&& other) noexcept { swap(other); }
  Pinned& operator=(Pinned&& other) noexcept {
    swap(other);
    return *this;
  }
  std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  void swap(Pinned& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
  }
  void release() noexcept;
  std::shared_ptr<Device> device_;
  void* data_ = nullptr;
};

// Code on the device.
class LoadedCode {
 public:
  LoadedCode(std::shared_ptr<Device> device, const std::string& code);
  ~LoadedCode();
  LoadedCode(LoadedCode&& other) noexcept
      : device_(std::move(other.device_)), module_(std::exchange(other.module_, nullptr)) {}
  CUfunction function(const char* name) const;

 private:
  std::shared_ptr<Device> device_;
  CUmodule module_ = nullptr;
};

}  // namespace neon::cuda
