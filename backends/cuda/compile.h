// Kernels from source, by NVRTC, kept on disk.
#pragma once
#include <string>
#include <vector>

namespace neon::cuda {

// Machine code for compute capability `arch` (90) of each source, compiled by several threads. What was compiled before
// for the same source, architecture and compiler is taken from cache_dir()/cuda; a cache that cannot be written is no
// error. Throws ErrorKind::failed with the compiler's words.
std::vector<std::string> compile_sources(const std::vector<std::string>& sources, int arch);

// "13.0"
std::string nvrtc_version();

}  // namespace neon::cuda
