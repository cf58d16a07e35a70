// CUDA's libraries: which files this build of neon opens, and what to install where one is missing. The GPU module
// opens each when a program needs it or is going to, as that takes up to a second; `neon doctor` looks at all of them.
#pragma once
#include <string>
#include <vector>

namespace neon {

enum class CudaLibrary { nvrtc, cublaslt, cudnn, nccl };

// "13.0", of the headers that neon was built with; "" in a build without CUDA.
std::string cuda_version();

// Stays open. Null: `problem` names the file, says why it cannot be opened and what to install.
void* open_library(CudaLibrary library, std::string& problem);

// "570.86.15": the driver in the kernel gives its version in this file; "" if it does not.
std::string driver_version(const std::string& file = "/proc/driver/nvidia/version");

struct FoundLibrary {
  std::string name;  // "cuBLASLt"
  std::string version, path;
  std::string problem;  // why it cannot be opened, or ""
};
// All, opened; none in a build without CUDA.
std::vector<FoundLibrary> find_cuda_libraries();

}  // namespace neon
