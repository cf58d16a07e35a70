#include "backends/cuda/library.h"

#include <dlfcn.h>

#include "backends/device/device.h"

namespace neon::cuda {

Library::Library(const std::string& doing, CudaLibrary library) {
  std::string problem;
  handle_ = open_library(library, problem);
  if (!handle_) throw MissingLibrary(text(doing, " needs ", problem));
}

void* Library::symbol(const char* name) const {
  void* const found = dlsym(handle_, name);
  if (!found) fail(ErrorKind::device, "a library of CUDA's is too old for this build of neon: ", dlerror());
  return found;
}

}  // namespace neon::cuda
