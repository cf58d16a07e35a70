// The text of a file, plain or gzip, in memory that the system gives in large pages. A plain file of 100 MB is read
// three times as fast as into a string, which is filled with zeros first and grows.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "neon/core/tensor.h"

namespace neon {

class ByteStream;
class FileSource;

class TextFile {
 public:
  explicit TextFile(const std::string& path);
  // Reads only the first lines, in about `head` bytes, of a plain file of more than `held` bytes.
  TextFile(const std::string& path, int64_t held, int64_t head);
  ~TextFile();

  // All of it. A file that is not held is read when this is first called, so not by several threads at once.
  std::string_view text() const;
  bool is_held() const { return !text_.empty() || size_ == 0; }
  size_t size() const { return size_; }
  // The whole text where it is held; otherwise its first lines, which are whole.
  std::string_view head() const { return is_held() ? text_ : head_; }
  // Bytes of the file, by any thread; for a plain file that is not held.
  void read(size_t at, char* to, size_t size) const;

 private:
  size_t size_ = 0;
  mutable Tensor plain_;  // of a plain file
  std::string unpacked_;  // of a gzip file
  mutable std::string_view text_;
  std::unique_ptr<const FileSource> source_;
  std::string head_;
};

// The files of a folder and of those below it, in the order of their paths; without hidden files and folders. Before
// kRulesOfDeepTexts hidden folders counted, and folders behind links did not.
std::vector<std::string> files_below(const std::string& folder, bool as_deep_texts = true);

struct NamedText {
  std::string name, text;
};

// A text without the byte order mark that some editors put before it. A data error where it is UTF-16, with a mark or
// without one: its words and characters would be torn apart.
std::string_view utf8_text(std::string_view text, const std::string& name);

// The files of an archive (tar, tar.gz, zip) in the order of their names, without hidden ones; none where the file is
// no archive. A data error where it is packed in a way that neon cannot read, or has no files.
std::vector<NamedText> texts_of_archive(const std::string& path);
// The same of a tar that is read once, such as stdin.
std::vector<NamedText> texts_of_tar(std::unique_ptr<ByteStream> bytes);

}  // namespace neon
