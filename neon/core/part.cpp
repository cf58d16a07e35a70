#include "neon/core/part.h"

#include <sys/mman.h>

#include <mutex>
#include <string>
#include <vector>

#include "neon/core/error.h"
#include "neon/core/module_files.h"
#include "neon/core/version.h"

namespace neon {

namespace {

struct KnownPart {
  std::string type;
  const void* table;
  std::string version;
};

// Parts of the program and of the modules that it has opened.
struct KnownParts {
  std::mutex mutex;
  std::vector<KnownPart> all;
};
KnownParts& known_parts() {
  static KnownParts parts;
  return parts;
}

const void* known_part(const char* type) {
  KnownParts& parts = known_parts();
  const std::lock_guard lock(parts.mutex);
  for (const KnownPart& known : parts.all)
    if (known.type == type) return known.version == version() ? known.table : nullptr;
  return nullptr;
}

// Whether a library could be mapped: the loader's message does not tell a limit of the address space from other causes.
bool has_room() {
  constexpr size_t kRoom = size_t(128) << 20;  // more than any module and its libraries take
  void* const mapped = mmap(nullptr, kRoom, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return false;
  munmap(mapped, kRoom);
  return true;
}

}  // namespace

void detail::add_part(const char* type, const void* table, const char* version) {
  KnownParts& parts = known_parts();
  const std::lock_guard lock(parts.mutex);
  parts.all.push_back({type, table, version});
}

const void* detail::find_part(const char* type, const PartName& name) {
  if (const void* table = known_part(type)) return table;
  const OpenedModule module = open_module(name.module, "neon/modules");
  if (module.path.empty())
    fail(ErrorKind::failed, name.use, " libneon_", name.module,
         ".so, which is neither installed nor beside this program: install neon as a whole, or build "
         "all of it (ninja -C build)");
  if (!module.handle && !has_room())
    fail(ErrorKind::memory, name.use, " ", module.path, ", and too little memory is left to open it: ", module.problem);
  if (!module.handle)
    fail(ErrorKind::failed, name.use, " ", module.path, ", which cannot be opened: ", module.problem, "; Debian's ",
         name.package, " has the library");
  if (const void* table = known_part(type)) return table;
  fail(ErrorKind::failed, name.use, " ", module.path, ", which is of another version of neon than this program, ",
       version(), ": install neon as a whole");
}

}  // namespace neon
