// A file with the bytes of an input, for readers that take a path.
#pragma once
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "neon/core/error.h"

namespace neon_test {

class GivenFile {
 public:
  GivenFile(const std::string& name, std::string_view content) : path_(folder().path / name) {
    std::ofstream(path_, std::ios::binary) << content;
  }
  ~GivenFile() { std::filesystem::remove(path_); }
  GivenFile(const GivenFile&) = delete;
  std::string path() const { return path_.string(); }

 private:
  // Of this process alone, as long as it runs.
  struct Folder {
    std::filesystem::path path;
    Folder() {
      std::string name = (std::filesystem::temp_directory_path() / "neon-fuzz-XXXXXX").string();
      NEON_ASSERT(mkdtemp(name.data()));
      path = name;
    }
    ~Folder() { std::filesystem::remove_all(path); }
  };
  static const Folder& folder() {
    static const Folder made;
    return made;
  }
  const std::filesystem::path path_;
};

}  // namespace neon_test
