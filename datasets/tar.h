// Tar archives, plain or gzip, read from start to end without unpacking them to disk: ustar, GNU's long names and
// pax headers. Every failure is an ErrorKind::data that starts with the archive's path.
#pragma once
#include <memory>
#include <string>

#include "datasets/gzip.h"
#include "neon/core/text.h"

namespace neon {

class TarReader {
 public:
  explicit TarReader(const std::string& path);            // a file, plain or gzip
  explicit TarReader(std::unique_ptr<ByteStream> bytes);  // anything, for fuzzing

  // Goes to the next regular file; false after the last. Folders and volume labels are passed over. Links, devices,
  // sparse files, and names that are absolute or have a `..` are errors. So are an archive without its end and bytes
  // beyond it, except bytes behind a gzip stream, which zlib does not report.
  bool next();
  // The present file's name, without a leading `./`, and its size.
  const std::string& name() const { return name_; }
  int64_t size() const { return size_; }
  // Where in the archive, unpacked, its content begins.
  int64_t place() const { return at_; }
  // Its content; at most once a file. More than `cap` bytes are an error.
  std::string content(int64_t cap = int64_t(1) << 32);
  // "ARCHIVE: NAME", for messages.
  std::string where() const { return printable(bytes_->path() + ": " + name_); }

 private:
  bool read_block(char* block);
  void skip(int64_t bytes);
  void check_end();
  void forget_headers();
  std::string read_text(int64_t size);
  void take_pax(const std::string& records);
  // Reads what a header is about that describes no file, and returns whether the header is one of these.
  bool take_special(char type, int64_t size);
  void take_name(const char* header);
  void refuse_others_than_files(char type, bool sparse) const;
  [[noreturn]] void corrupt(const std::string& what) const;

  std::unique_ptr<ByteStream> bytes_;
  std::string name_;
  int64_t size_ = 0, left_ = 0;  // bytes of the present file, and those not read yet with what pads them to 512
  int64_t at_ = 0;               // bytes read of the archive
  std::string long_name_;        // of the next file, from a GNU or pax header
  int64_t long_size_ = -1;
  bool sparse_ = false;  // a pax header says that the next file is stored without its holes
  bool ended_ = false;
};

// Whether the name is that of a tar archive: .tar, .tar.gz, .tgz.
bool is_tar_name(const std::string& path);

}  // namespace neon
