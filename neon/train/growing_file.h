// A file that grows while a run goes on, and whose failures end no run.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "neon/train/atomic_file.h"

namespace neon {

class GrowingFile {
 public:
  GrowingFile() = default;
  // An open file of so many bytes.
  GrowingFile(std::string path, FileHandle file, size_t bytes)
      : path_(std::move(path)), file_(std::move(file)), end_(bytes) {}
  // For the next flush.
  void add(std::string_view bytes) { pending_ += bytes; }
  // Hands all that was added to the system, that of failed flushes, too. Returns a warning when it fails for the first
  // time, else "".
  std::string flush();

 private:
  std::string path_;
  FileHandle file_;
  size_t end_ = 0;       // of what is in the file
  std::string pending_;  // what is not
  bool failing_ = false;
};

}  // namespace neon
