#include "backends/cuda/library.h"

#include <dlfcn.h>

#include "neon/core/error.h"

namespace neon::cuda {

Library::Library(const std::vector<std::string>& names, const std::string& purpose) {
  for (const std::string& name : names)
    if (!handle_ && (handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL))) name_ = name;
  if (!handle_)
    fail(ErrorKind::device, purpose, " needs ", names.front(),
         ", which cannot be opened: install CUDA's runtime libraries, or add their folder to LD_LIBRARY_PATH");
}

void* Library::symbol(const char* name) const {
  void* found = dlsym(handle_, name);
  if (!found) fail(ErrorKind::device, name_, " has no function ", name, ": it is too old for this build of neon");
  return found;
}

}  // namespace neon::cuda
