// The kernels of libraries, unpacked and loaded before a program's first run, while the caller does something else. A
// library does that when a kernel is first launched, which takes it a millisecond or two, in whatever thread.
#pragma once
#include <thread>
#include <vector>

#include "backends/cuda/engine.h"
#include "backends/cuda/library_kernel.h"

namespace neon::cuda {

// As LibraryKernel::launch() has it. None of the addresses is read or written.
struct EarlyLaunch {
  LibraryKernel* kernel;
  void *a, *b, *bias, *c, *workspace;
};

// Threads that record the launches, of which nothing is kept. What fails there fails again when it is launched. Until
// they have ended nobody else may launch these kernels.
std::vector<std::jthread> launch_early(const std::vector<EarlyLaunch>& launches, Engine& engine);

}  // namespace neon::cuda
