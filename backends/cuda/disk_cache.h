// Compiled kernels and chosen algorithms that were made once on this machine and are found again. Each is a file in the
// cache folder (NEON_CACHE_DIR), written beside its place and renamed. If there is no folder and none can be made, as
// under /dev/null, nothing is kept.
#pragma once
#include <string>

namespace neon::cuda {

class DiskCache {
 public:
  // `kind` ends the files' names; entries of another `version` are not found.
  DiskCache(std::string kind, std::string version);
  // False if there is no such entry, or if it is not whole.
  bool read(const std::string& key, std::string& value) const;
  void write(const std::string& key, const std::string& value) const;
  // "" without a folder.
  const std::string& folder() const { return folder_; }
  // Whether what is written is found again.
  bool keeps() const;

 private:
  std::string path(const std::string& key) const;
  std::string head(const std::string& key, const std::string& value) const;
  std::string kind_, version_, folder_;
};

}  // namespace neon::cuda
