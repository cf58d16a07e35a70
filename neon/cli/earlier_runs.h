// Files of earlier runs that a run writes over, as two runs with one -s do.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "neon/train/options.h"

namespace neon {

// Folders in runs/ whose links lead to such files get files of their own in place of the links: otherwise the folder of
// an earlier run would show the new one. Undone where the run does not begin.
class KeptFiles {
 public:
  KeptFiles() = default;
  explicit KeptFiles(const RunOptions& options);
  KeptFiles(KeptFiles&& other) noexcept : links_(std::exchange(other.links_, {})) {}
  KeptFiles& operator=(KeptFiles&& other) noexcept {
    std::swap(links_, other.links_);
    return *this;
  }
  ~KeptFiles();
  // The run begins: the files stay.
  void settle();

 private:
  struct Link {
    std::string path, target;
  };
  void keep(const std::string& link, bool grows);
  std::vector<Link> links_;
};

}  // namespace neon
