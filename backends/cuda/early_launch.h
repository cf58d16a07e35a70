// The kernels of libraries, unpacked and loaded before a program's first run, while the caller does something else. A
// library does that when a kernel is first launched, which takes it a millisecond or two, in whatever thread.
#pragma once
#include <thread>
#include <vector>

#include "backends/cuda/library_kernel.h"

namespace neon::cuda {

// As LibraryKernel::run() has it. None of the addresses is read or written.
struct EarlyLaunch {
  LibraryKernel* kernel;
  std::vector<void*> arrays;
  void* workspace;
};

// The early launches of a GPU. Threads record launches, each on a stream of its own, and discard the recording. A
// kernel that fails there fails again when it is launched.
class EarlyLaunches {
 public:
  explicit EarlyLaunches(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  // Begins once the launches before have ended. Records one kernel for each plan that kernels share.
  void begin(std::vector<EarlyLaunch> launches);
  // Waits for them. To be called before anybody else launches a library's kernel, or drops one: a plan of cuDNN's is
  // run by one thread at a time, whatever programs have it.
  void end() { threads_.clear(); }

 private:
  std::shared_ptr<Device> device_;
  std::vector<CUstream> streams_;  // of the threads, made when they are first needed
  std::vector<std::jthread> threads_;
};

}  // namespace neon::cuda
