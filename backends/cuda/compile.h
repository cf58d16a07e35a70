// Kernels from source, by NVRTC, kept on disk.
#pragma once
#include <atomic>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "backends/cuda/cold_start.h"
#include "backends/cuda/disk_cache.h"

namespace neon::cuda {

// Machine code of each source for compute capability `arch` (90). For a GPU that NVRTC does not know: PTX for the
// newest architecture before it, which the driver compiles further. Code that was compiled before comes from
// cache_dir()/cuda, by source, architecture and the version of CUDA that neon was built with. NVRTC's own version is
// not asked: if the cache has everything, NVRTC is not even opened. A cache that cannot be written is no error.
// From its construction on other threads compile, all but one of those that neon has.
class Compilation {
 public:
  Compilation(std::vector<std::string> sources, int arch, ColdStart* cold);
  Compilation(const Compilation&) = delete;
  // Waits for what was begun.
  ~Compilation();
  // To be called once: helps them, and waits. Throws ErrorKind::failed with the compiler's words, MissingLibrary
  // without NVRTC.
  std::vector<std::string> codes();

 private:
  void work();
  const std::vector<std::string> sources_;
  const int arch_;
  const DiskCache cache_;
  std::vector<std::string> codes_;
  std::vector<std::vector<size_t>> work_;  // places of a source, once each
  std::atomic<size_t> next_ = 0;
  std::mutex mutex_;
  std::exception_ptr problem_;
  std::vector<std::jthread> threads_;
};

// The same at once.
std::vector<std::string> compile_sources(std::vector<std::string> sources, int arch, ColdStart* cold = nullptr);

}  // namespace neon::cuda
