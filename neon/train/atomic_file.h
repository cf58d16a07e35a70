// Files that are whole or not there: written beside their place as PATH.part, flushed to the disk, renamed
// over PATH, and the folder flushed. A crash at any instant leaves the old file or the new one, and at worst
// a .part beside it. The .part is locked while it is written, the finished file for as long as it is held open.
#pragma once
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace neon {

// An open file descriptor, closed when dropped.
class FileHandle {
 public:
  explicit FileHandle(int descriptor = -1) : descriptor_(descriptor) {}
  FileHandle(FileHandle&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileHandle& operator=(FileHandle&& other) noexcept;
  ~FileHandle() { close(); }
  int get() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }
  void close();

 private:
  int descriptor_;
};

// The operating system's words for an errno value: "No space left on device".
std::string system_message(int number);

// The folder part of a path, "." when it has none; and the rest.
std::string folder_of(const std::string& path);
std::string file_name_of(const std::string& path);

// Opens for reading. Throws a data error that says why it cannot; a folder, pipe or device is refused.
FileHandle open_to_read(const std::string& path);
// Bytes in an open file. Throws a data error.
size_t file_size(const FileHandle& file, const std::string& path);
// Fills `to` from byte `offset`. Throws a data error when the file ends before.
void read_exactly(const FileHandle& file, size_t offset, void* to, size_t bytes, const std::string& path);
// Writes all of it at byte `offset`, in as many calls as it takes. Returns 0, or errno.
int write_at(const FileHandle& file, size_t offset, const void* from, size_t bytes);

// Where a file really is: the end of a chain of symbolic links, so that what is made beside it is on the same
// disk and the link stays. A path that is not a link, or is not there, stays as it is. Throws a failed error
// for a link to nothing.
std::string follow_links(const std::string& path);
// Makes every folder on the way to the file. Throws a failed error.
void make_folder_of(const std::string& path);
// Throws the failed error that making `path` and the folders on the way to it would end with, as far as that can be
// seen with no file made.
void check_place(const std::string& path);
// Gives an unreadable or foreign file another name beside it ("model.unreadable-1.safetensors") instead of
// letting it be overwritten; returns that name. Throws a failed error.
std::string set_aside(const std::string& path);

class AtomicFile {
 public:
  // Opens PATH.part. A symbolic link is followed. Throws a failed error when the folder cannot be written, when
  // PATH is a folder or device, or when another process is writing the same file or still holds it. `ours` is what
  // this process made there before and holds.
  explicit AtomicFile(const std::string& path, const FileHandle* ours = nullptr);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();  // not committed: removes the .part

  const std::string& path() const { return path_; }
  const std::string& part_path() const { return part_; }
  const FileHandle& handle() const { return file_; }

  // The following throw a failed error with the path and the reason.
  void write(const void* data, size_t bytes);  // buffered
  void sync();                                 // everything written is on the disk
  void rename_over();                          // sync, rename; sync_folder_of(path()) is left to do
  void commit();                               // all of it
  // After the rename: the open file, to hold it or to write in place.
  FileHandle release() { return std::move(file_); }

 private:
  void write_out(const void* data, size_t bytes);
  void flush_buffer();
  std::string path_, part_;
  FileHandle file_;
  std::vector<std::byte> buffer_;
  size_t written_ = 0;
  bool synced_ = false, renamed_ = false;
};

// Flushes the folder that holds `path`, so that a rename in it survives a loss of power. Throws a failed error.
void sync_folder_of(const std::string& path);

}  // namespace neon
