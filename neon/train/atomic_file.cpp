#include "neon/train/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "neon/core/error.h"
#include "neon/train/file_lock.h"

namespace neon {

namespace {

constexpr size_t kBufferBytes = size_t(1) << 20;

[[noreturn]] void cannot(const char* what, const std::string& path, int number) {
  fail(ErrorKind::failed, "cannot ", what, " ", path, ": ", system_message(number));
}

int sync_descriptor(int descriptor) {
  int result;
  do result = fsync(descriptor);
  while (result != 0 && errno == EINTR);
  return result == 0 ? 0 : errno;
}

// A folder or device is never renamed over: as root that would replace /dev/null.
std::string check_target(const std::string& path) {
  const std::string out = follow_links(path);
  struct stat status;
  if (lstat(out.c_str(), &status) != 0) {
    if (errno == ENOENT) return out;
    cannot("write", out, errno);
  }
  if (S_ISDIR(status.st_mode)) fail(ErrorKind::failed, "cannot write ", path, ": it is a folder; give a file's name");
  if (!S_ISREG(status.st_mode))
    fail(ErrorKind::failed, "cannot write ", path, ": it is not a regular file, and the file is made by renaming");
  return out;
}

[[noreturn]] void in_use(const std::string& path) {
  fail(ErrorKind::failed, "cannot write ", path, ": another process is writing it; give each run its own file");
}

// Opens the .part and takes it for this process. That `path` is nobody else's is looked at before, so that the .part
// of a run at work is left alone, and again after, for one that has just renamed its first.
FileHandle open_part(const std::string& path, const std::string& part, int ours) {
  if (is_in_use(path, ours)) in_use(path);
  for (int attempt = 0; attempt < 100; ++attempt) {
    FileHandle file(open(part.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (!file) cannot("write", part, errno);
    if (!lock_file(file.get(), true)) in_use(path);
    struct stat opened, named;
    if (fstat(file.get(), &opened) != 0) cannot("write", part, errno);
    // The other process may have renamed it between our open and our lock: then it is no longer a .part.
    if (stat(part.c_str(), &named) != 0 || named.st_ino != opened.st_ino || named.st_dev != opened.st_dev) continue;
    if (!S_ISREG(opened.st_mode)) fail(ErrorKind::failed, "cannot write ", part, ": it is not a regular file");
    if (is_in_use(path, ours)) {
      unlink(part.c_str());
      in_use(path);
    }
    if (opened.st_size > 0 && ftruncate(file.get(), 0) != 0) cannot("write", part, errno);
    return file;
  }
  fail(ErrorKind::failed, "cannot write ", part, ": other processes keep renaming it; give each run its own file");
}

}  // namespace

FileHandle& FileHandle::operator=(FileHandle&& other) noexcept {
  if (this != &other) {
    close();
    descriptor_ = std::exchange(other.descriptor_, -1);
  }
  return *this;
}

void FileHandle::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

std::string system_message(int number) {
  char buffer[128];
  return strerror_r(number, buffer, sizeof buffer);  // GNU's form: returns the text
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string file_name_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

std::string follow_links(const std::string& path) {
  struct stat status;
  if (lstat(path.c_str(), &status) != 0 || !S_ISLNK(status.st_mode)) return path;
  char* real = realpath(path.c_str(), nullptr);
  if (!real)
    fail(ErrorKind::failed, "cannot use ", path, ": it is a symbolic link, and what it names: ", system_message(errno));
  std::string out = real;
  std::free(real);
  return out;
}

FileHandle open_to_read(const std::string& path) {
  // O_NONBLOCK: a pipe without a writer must not hang us before it is refused.
  FileHandle file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) fail(ErrorKind::data, "cannot read ", path, ": ", system_message(errno));
  struct stat status;
  if (fstat(file.get(), &status) != 0) fail(ErrorKind::data, "cannot read ", path, ": ", system_message(errno));
  if (S_ISDIR(status.st_mode)) fail(ErrorKind::data, "cannot read ", path, ": it is a folder; give a file's name");
  if (!S_ISREG(status.st_mode)) fail(ErrorKind::data, "cannot read ", path, ": it is not a regular file");
  return file;
}

size_t file_size(const FileHandle& file, const std::string& path) {
  struct stat status;
  if (fstat(file.get(), &status) != 0) fail(ErrorKind::data, "cannot read ", path, ": ", system_message(errno));
  return size_t(status.st_size);
}

void read_exactly(const FileHandle& file, size_t offset, void* to, size_t bytes, const std::string& path) {
  size_t done = 0;
  while (done < bytes) {
    const ssize_t got = pread(file.get(), static_cast<char*>(to) + done, bytes - done, off_t(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(ErrorKind::data, "cannot read ", path, " at byte ", offset + done, ": ", system_message(errno));
    if (got == 0)
      fail(ErrorKind::data, path, ": the file ends at byte ", offset + done, ", ", bytes - done,
           " bytes too early; was it cut off while it was copied?");
    done += size_t(got);
  }
}

int write_at(const FileHandle& file, size_t offset, const void* from, size_t bytes) {
  size_t done = 0;
  while (done < bytes) {
    const ssize_t put = pwrite(file.get(), static_cast<const char*>(from) + done, bytes - done, off_t(offset + done));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno;
    if (put == 0) return ENOSPC;
    done += size_t(put);
  }
  return 0;
}

void make_folder_of(const std::string& path) {
  const std::string folder = folder_of(path);
  for (size_t end = folder.find('/', 1);; end = folder.find('/', end + 1)) {
    const std::string part = folder.substr(0, end);
    struct stat status;
    if (mkdir(part.c_str(), 0777) != 0) {
      const int why = errno;  // on a read-only disk an existing folder gives EROFS, not EEXIST
      if (stat(part.c_str(), &status) != 0) cannot("make the folder", part, why);
      if (!S_ISDIR(status.st_mode)) fail(ErrorKind::failed, "cannot write in ", part, ": it is not a folder");
    }
    if (end == std::string::npos) return;
  }
}

void check_place(const std::string& path) {
  const std::string target = follow_links(path), folder = folder_of(target);
  struct stat status;
  if (stat(folder.c_str(), &status) == 0) {
    if (!S_ISDIR(status.st_mode)) fail(ErrorKind::failed, "cannot write in ", folder, ": it is not a folder");
    check_target(target);
    if (access(folder.c_str(), W_OK | X_OK) != 0) cannot("write", target + ".part", errno);
    if (is_in_use(target, -1)) in_use(target);
    return;
  }
  // Whether a folder can be made is seen by making it: not every disk says so before. It goes at once.
  std::string missing = folder;
  while (stat(folder_of(missing).c_str(), &status) != 0) missing = folder_of(missing);
  make_folder_of(missing + "/");
  if (rmdir(missing.c_str()) != 0) cannot("remove the folder", missing, errno);
}

std::string set_aside(const std::string& path) {
  const std::string name = file_name_of(path);
  const size_t dot = name.rfind('.');
  const size_t cut = path.size() - name.size() + (dot == std::string::npos || dot == 0 ? name.size() : dot);
  for (int number = 1;; ++number) {
    const std::string other = text(path.substr(0, cut), ".unreadable-", number, path.substr(cut));
    struct stat status;
    if (lstat(other.c_str(), &status) == 0) continue;
    if (rename(path.c_str(), other.c_str()) != 0) cannot("rename", path, errno);
    return other;
  }
}

AtomicFile::AtomicFile(const std::string& path, const FileHandle* ours)
    : path_(check_target(path)), part_(path_ + ".part") {
  file_ = open_part(path_, part_, ours ? ours->get() : -1);
  buffer_.reserve(kBufferBytes);
}

AtomicFile::~AtomicFile() {
  if (!renamed_ && file_) unlink(part_.c_str());
}

void AtomicFile::write_out(const void* data, size_t bytes) {
  if (const int error = write_at(file_, written_, data, bytes)) cannot("write", part_, error);
  synced_ = false;
  written_ += bytes;
}

void AtomicFile::flush_buffer() {
  if (buffer_.empty()) return;
  write_out(buffer_.data(), buffer_.size());
  buffer_.clear();
}

void AtomicFile::write(const void* data, size_t bytes) {
  if (buffer_.size() + bytes > kBufferBytes) flush_buffer();
  if (bytes > kBufferBytes) return write_out(data, bytes);
  const auto* from = static_cast<const std::byte*>(data);
  synced_ = false;
  buffer_.insert(buffer_.end(), from, from + bytes);
}

void AtomicFile::sync() {
  if (synced_) return;
  flush_buffer();
  if (const int error = sync_descriptor(file_.get())) cannot("flush to the disk", part_, error);
  synced_ = true;
}

void AtomicFile::rename_over() {
  sync();
  lock_file(file_.get(), false);  // what is finished is there to be read, by readers with locks too
  if (rename(part_.c_str(), path_.c_str()) != 0) cannot("rename the finished file to", path_, errno);
  renamed_ = true;
}

void AtomicFile::commit() {
  rename_over();
  sync_folder_of(path_);
}

void sync_folder_of(const std::string& path) {
  const std::string folder = folder_of(path);
  FileHandle handle(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // A folder that may be written but not listed cannot be flushed; nor can one on some network disks.
  if (!handle && errno == EACCES) return;
  if (!handle) cannot("flush the folder", folder, errno);
  const int error = sync_descriptor(handle.get());
  if (error && error != EINVAL && error != ENOTSUP) cannot("flush the folder", folder, error);
}

}  // namespace neon
