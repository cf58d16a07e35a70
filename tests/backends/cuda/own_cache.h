// A cache folder of a test's own, in which it finds what the clock chose, and changes it.
#pragma once
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "neon/core/random.h"
#include "neon/core/text.h"

namespace neon::test {

// A cache folder, empty at first.
class OwnCache {
 public:
  OwnCache() : folder_(std::filesystem::temp_directory_path() / text("neon_cuda_test.", getpid())) {
    if (const char* before = std::getenv("NEON_CACHE_DIR")) before_ = before;
    setenv("NEON_CACHE_DIR", folder_.c_str(), 1);
  }
  ~OwnCache() {
    if (before_) setenv("NEON_CACHE_DIR", before_->c_str(), 1);
    else unsetenv("NEON_CACHE_DIR");
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  // The files that name the libraries found faster.
  std::vector<std::filesystem::path> choices() const {
    std::vector<std::filesystem::path> out;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "cuda"))
      if (entry.path().extension() == ".library") out.push_back(entry.path());
    return out;
  }

 private:
  const std::filesystem::path folder_;
  std::optional<std::string> before_;
};

// A file of the cache is a line, which ends with the sizes of key and value and the value's hash, then the value.
inline void set_value(const std::filesystem::path& file, const std::string& value) {
  std::string head;
  std::getline(std::ifstream(file), head);
  for (int word = 0; word < 2; ++word) head.erase(head.rfind(' '));
  char hash[17];
  std::snprintf(hash, sizeof hash, "%016" PRIx64, hash_name(value));
  std::ofstream(file) << head << " " << value.size() << " " << hash << "\n" << value;
}

}  // namespace neon::test
