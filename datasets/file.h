// Whole files as strings of bytes. Every failure is an ErrorKind::data that starts with the path.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "neon/core/file_kind.h"

namespace neon {

// The first bytes as hex for a message: "3c 21 44 4f".
std::string hex_text(std::string_view bytes);

bool file_exists(const std::string& path);    // a regular file, or a link to one
bool folder_exists(const std::string& path);  // a folder, or a link to one
void make_folders(const std::string& path);   // and those above it

// Size in bytes; throws when it is not a file that can be read.
int64_t file_size(const std::string& path);

// Bytes that are read at offsets: of a file, or of memory (tests, fuzzing).
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Throws when they are not all there.
  virtual void read_at(int64_t offset, void* to, size_t size) const = 0;
  int64_t size() const { return size_; }
  const std::string& name() const { return name_; }  // a path, for messages

 protected:
  ByteSource(std::string name, int64_t size) : name_(std::move(name)), size_(size) {}
  std::string name_;
  int64_t size_;
};

// Closed with this.
struct Descriptor {
  const int number;
  explicit Descriptor(int opened) : number(opened) {}
  ~Descriptor();
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
};

class FileSource : public ByteSource {
 public:
  explicit FileSource(const std::string& path);
  // `fd` was opened at that path, and this closes it. Below 0: it could not be opened, and errno says why.
  FileSource(const std::string& path, int fd);
  void read_at(int64_t offset, void* to, size_t size) const override;

 private:
  const Descriptor descriptor_;
};

class MemorySource : public ByteSource {
 public:
  MemorySource(std::string_view bytes, std::string name)
      : ByteSource(std::move(name), int64_t(bytes.size())), bytes_(bytes) {}
  void read_at(int64_t offset, void* to, size_t size) const override;

 private:
  std::string_view bytes_;  // borrowed
};

// The whole file, at most `cap` bytes.
std::string read_file(const std::string& path, int64_t cap = int64_t(1) << 36);
void read_file(const std::string& path, int64_t cap, std::string& to);

// A folder that many files are read from. Files are found from the folder rather than from the root, and a small file
// is read without asking for its size. For files of 1 kB that saves a fifth of the time to open and read them.
class OpenFolder {
 public:
  explicit OpenFolder(const std::string& path);
  // A regular file, "a/b.jpg" say, as read_file reads and refuses it; by any thread.
  void read(const std::string& name, int64_t cap, std::string& to) const;

 private:
  const std::string path_;
  const Descriptor folder_;
};

}  // namespace neon
