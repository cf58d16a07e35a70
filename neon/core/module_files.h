// Modules: shared libraries that a program of neon opens when it needs them.
#pragma once
#include <string>

namespace neon {

struct OpenedModule {
  std::string path;        // "": there is no such file
  void* handle = nullptr;  // null: `problem` says why the file cannot be opened
  std::string problem;
};

// Opens libneon_NAME.so: the one installed with the program or library, the one in the program's own folder, or the one
// in `folder` of the build tree that program or library lies in.
OpenedModule open_module(const std::string& name, const std::string& folder);

}  // namespace neon
