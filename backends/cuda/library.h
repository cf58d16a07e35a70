// One of CUDA's libraries, opened at run time.
#pragma once
#include <string>

#include "backends/device/cuda_libraries.h"

namespace neon::cuda {

class Library {
 public:
  // Throws MissingLibrary, which says what `doing` needs it for.
  Library(const std::string& doing, CudaLibrary library);
  Library(const Library&) = delete;
  ~Library() = default;  // stays open: CUDA's libraries cannot be closed while a driver runs

  // Throws a device error where the library has no such function.
  template <typename Function>
  void find(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(symbol(name));
  }

 private:
  void* symbol(const char* name) const;
  void* handle_ = nullptr;
};

}  // namespace neon::cuda
