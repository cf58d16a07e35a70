#include "datasets/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "neon/core/error.h"
#include "neon/core/nearest_file.h"
#include "neon/core/paths.h"

namespace neon {

std::string hex_text(std::string_view bytes) {
  std::string out;
  for (char c : bytes) {
    if (!out.empty()) out += ' ';
    out += "0123456789abcdef"[uint8_t(c) >> 4];
    out += "0123456789abcdef"[uint8_t(c) & 15];
  }
  return out;
}

bool file_exists(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

bool folder_exists(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

void make_folders(const std::string& path) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (!part.empty() && mkdir(part.c_str(), 0777) != 0 && errno != EEXIST)
      fail(ErrorKind::data, printable(path), ": cannot make the folder ", printable(part), ": ", std::strerror(errno));
    if (end == path.npos) break;
  }
  if (!folder_exists(path)) fail(ErrorKind::data, printable(path), ": expected a folder, there is a file of that name");
}

namespace {

// A pipe would be waited for without O_NONBLOCK.
constexpr int kToRead = O_RDONLY | O_CLOEXEC | O_NONBLOCK;

// `found`: that the call which was to fill status did.
int64_t size_of(const struct stat& status, bool found, const std::string& path) {
  if (!found && errno == ENOENT)
    fail(ErrorKind::data, printable(path), ": ", std::strerror(ENOENT), nearest_file(path));
  if (!found) fail(ErrorKind::data, printable(path), ": ", std::strerror(errno));
  if (S_ISDIR(status.st_mode)) fail(ErrorKind::data, printable(path), ": expected a file, this is a folder");
  if (!S_ISREG(status.st_mode))
    fail(ErrorKind::data, printable(path), ": expected a file, this is a device, pipe or socket");
  return status.st_size;
}

}  // namespace

int64_t file_size(const std::string& path) {
  struct stat status;
  return size_of(status, stat(path.c_str(), &status) == 0, path);
}

FileSource::FileSource(const std::string& path) : FileSource(path, ::open(path.c_str(), kToRead)) {}

FileSource::FileSource(const std::string& path, int fd) : ByteSource(path, 0), descriptor_(fd) {
  struct stat status;
  size_ = size_of(status, fd >= 0 && fstat(fd, &status) == 0, path);
}

Descriptor::~Descriptor() { close(number); }

void FileSource::read_at(int64_t offset, void* to, size_t size) const {
  size_t done = 0;
  while (done < size) {
    const ssize_t got = pread(descriptor_.number, static_cast<char*>(to) + done, size - done, offset + int64_t(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(ErrorKind::data, printable(name_), ": ", std::strerror(errno));
    if (got == 0)
      fail(ErrorKind::data, printable(name_), ": truncated: ends where more bytes are expected, at ",
           offset + int64_t(done));
    done += size_t(got);
  }
}

void MemorySource::read_at(int64_t offset, void* to, size_t size) const {
  if (offset < 0 || offset > size_ || int64_t(size) > size_ - offset)
    fail(ErrorKind::data, printable(name_), ": truncated: ends where more bytes are expected, at ", size_);
  if (size) std::memcpy(to, bytes_.data() + offset, size);
}

namespace {

// `start`: what has been read already.
void read_rest(const FileSource& file, int64_t cap, std::string_view start, std::string& to) {
  if (file.size() > cap)
    fail(ErrorKind::data, printable(file.name()), ": ", bytes_text(double(file.size())), " is more than the ",
         bytes_text(double(cap)), " that such a file may have");
  to.resize(size_t(file.size()));
  start = start.substr(0, to.size());
  std::ranges::copy(start, to.begin());
  file.read_at(int64_t(start.size()), to.data() + start.size(), to.size() - start.size());
}

}  // namespace

std::string read_file(const std::string& path, int64_t cap) {
  std::string out;
  read_file(path, cap, out);
  return out;
}

void read_file(const std::string& path, int64_t cap, std::string& to) { read_rest(FileSource(path), cap, "", to); }

OpenFolder::OpenFolder(const std::string& path)
    : path_(path), folder_(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
  if (folder_.number < 0) fail(ErrorKind::data, printable(path), ": ", std::strerror(errno));
}

void OpenFolder::read(const std::string& name, int64_t cap, std::string& to) const {
  char bytes[16384];
  size_t size = 0;
  ssize_t got = -1;  // 0 at the file's end
  const int file = openat(folder_.number, name.c_str(), kToRead);
  while (file >= 0 && size < sizeof bytes && (got = ::read(file, bytes + size, sizeof bytes - size)) > 0)
    size += size_t(got);
  if (got == 0 && size > 0 && int64_t(size) <= cap) {
    to.assign(bytes, size);
    close(file);
  } else {  // large, empty or unreadable; read_rest reports why
    read_rest(FileSource(join_path(path_, name), file), cap, {bytes, size}, to);
  }
}

}  // namespace neon
