// A folder for files that are needed for a while.
#pragma once
#include <string>

namespace neon {

class ScratchFolder {
 public:
  ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ~ScratchFolder();  // removes it with all in it
  std::string path;
};

}  // namespace neon
