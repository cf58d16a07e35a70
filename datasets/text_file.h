// The text of a file, plain or gzip, in memory that the system gives in large pages. A plain file of 100 MB is read
// three times as fast as into a string, which is filled with zeros first and grows.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

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

struct NamedText {
  std::string name, text;
};

// The files of an archive (tar, tar.gz, zip) in the order of their names, without hidden ones; none where the file is
// no archive. A data error where it is packed in a way that neon cannot read, or has no files.
std::vector<NamedText> texts_of_archive(const std::string& path);

}  // namespace neon
