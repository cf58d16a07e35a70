// The text of a file, plain or gzip, in memory that the system gives in large pages. A plain file of 100 MB is read
// three times as fast as into a string, which is filled with zeros first and grows.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "neon/core/tensor.h"

namespace neon {

class TextFile {
 public:
  explicit TextFile(const std::string& path);
  std::string_view text() const { return text_; }

 private:
  Tensor plain_;          // of a plain file
  std::string unpacked_;  // of a gzip file
  std::string_view text_;
};

}  // namespace neon
