// Kernels from source, by NVRTC, kept on disk.
#pragma once
#include <string>
#include <vector>

#include "backends/cuda/cold_start.h"

namespace neon::cuda {

// Machine code for compute capability `arch` (90) of each source, compiled by several threads; for a GPU that NVRTC
// does not know PTX for the newest before it, which the driver compiles on. What was compiled before for the same
// source, architecture and version of CUDA (that neon was built with: NVRTC, which could tell of its own, is not even
// opened where everything is there) is taken from cache_dir()/cuda; a cache that cannot be written is no error. Throws
// ErrorKind::failed with the compiler's words, MissingLibrary without NVRTC.
std::vector<std::string> compile_sources(const std::vector<std::string>& sources, int arch, ColdStart* cold = nullptr);

}  // namespace neon::cuda
