// Modules: shared libraries that a program of neon opens when it needs them.
#pragma once
#include <string>
#include <vector>

namespace neon {

// Where libneon_NAME.so may lie, likeliest first: beside the installed program or library, or in `folder` of the build
// tree that one of them lies in.
std::vector<std::string> module_files(const std::string& name, const std::string& folder);

// Opens a module's file. Null: `problem` says why.
void* open_module_file(const std::string& path, std::string& problem);

}  // namespace neon
