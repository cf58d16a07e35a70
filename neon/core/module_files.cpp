#include "neon/core/module_files.h"

#include <dlfcn.h>
#include <unistd.h>

#include <vector>

#include "neon/core/paths.h"
#include "neon/core/text.h"

namespace neon {

namespace {

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? "" : path.substr(0, slash);
}

std::string folder_of_executable() {
  char path[4096];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  return folder_of(std::string(path, n > 0 ? size_t(n) : 0));
}

// The folder of the shared library that holds this code, if a library does. "" in a program that was found by its name
// alone: neon opens nothing because of the current folder.
std::string folder_of_library() {
  Dl_info info{};
  const bool found = dladdr(reinterpret_cast<void*>(&folder_of_library), &info) && info.dli_fname;
  return folder_of(found ? info.dli_fname : "");
}

// The module takes what it needs of neon from what is open for all to see. The library is not where it came along with
// what was opened for itself, as Python opens its extensions. (A program is, and cannot be opened.)
void show_library() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&show_library), &info) && info.dli_fname)
    dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);
}

// Places of the file, the likeliest first.
std::vector<std::string> module_files(const std::string& name, const std::string& folder) {
  const std::string file = text("libneon_", name, ".so");
  const std::string program = folder_of_executable(), library = folder_of_library();
  std::vector<std::string> out;
  if (!program.empty()) out = {join_path(join_path(program, NEON_MODULE_FOLDER), file), join_path(program, file)};
  if (!library.empty()) out.push_back(join_path(library, "neon/" + file));
  for (std::string above : {program, library})
    for (int up = 0; up < 4 && !above.empty(); ++up) {
      out.push_back(join_path(above, join_path(folder, file)));
      above = folder_of(above);
    }
  return out;
}

}  // namespace

OpenedModule open_module(const std::string& name, const std::string& folder) {
  OpenedModule out;
  for (const std::string& path : module_files(name, folder)) {
    if (access(path.c_str(), F_OK) != 0) continue;
    show_library();
    out.path = path;
    // Lazily: an older library that the module was linked with may lack functions, and is to be asked for its version
    // first.
    out.handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (!out.handle) out.problem = dlerror();
    break;
  }
  return out;
}

}  // namespace neon
