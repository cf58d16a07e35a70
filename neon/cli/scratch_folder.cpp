#include "neon/cli/scratch_folder.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "neon/core/error.h"
#include "neon/train/atomic_file.h"

namespace neon {

ScratchFolder::ScratchFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "neon-plot-XXXXXX").string();
  if (!mkdtemp(name.data()))
    fail(ErrorKind::failed, name, ": cannot make this folder: ", system_message(errno), "; set TMPDIR to another one");
  path = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

}  // namespace neon
