#include "neon/train/own_key.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "datasets/file.h"
#include "datasets/hash.h"
#include "neon/core/error.h"
#include "neon/core/paths.h"
#include "neon/core/text.h"

namespace neon {

namespace {

constexpr size_t kKeyDigits = 64;

std::string key_path() { return join_path(cache_dir(), "own-key"); }

// "" where there is no key that this user alone can read.
std::string read_key() {
  const int fd = ::open(key_path().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return "";
  const Descriptor file(fd);
  struct stat status;
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid() || (status.st_mode & 077))
    return "";
  std::string key(kKeyDigits + 1, '\0');
  const ssize_t got = ::read(fd, key.data(), key.size());
  key.resize(size_t(std::max<ssize_t>(got, 0)));
  return key.size() == kKeyDigits ? key : "";
}

std::string new_key() {
  unsigned char bytes[32];
  if (getrandom(bytes, sizeof bytes, 0) != ssize_t(sizeof bytes)) return "";
  return sha256({reinterpret_cast<const char*>(bytes), sizeof bytes});
}

// Under its name the key is whole from the start, and another process's key stays.
void write_key(const std::string& key) {
  make_folders(cache_dir());
  const std::string path = key_path(), part = text(path, ".", getpid(), ".part");
  const int fd = ::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return;
  const Descriptor file(fd);
  if (::write(fd, key.data(), key.size()) == ssize_t(key.size())) [[maybe_unused]]
    const int there = link(part.c_str(), path.c_str());
  unlink(part.c_str());
}

}  // namespace

void make_own_key() {
  try {
    if (!read_key().empty()) return;
    if (const std::string key = new_key(); !key.empty()) write_key(key);
  } catch (const Error&) {  // no cache folder: a run needs none
  }
}

std::string own_seal(const std::string& spec, const std::string& options) {
  try {
    const std::string key = read_key();
    // The length tells where the spec ends.
    return key.empty() ? "" : hmac_sha256(key, text(spec.size(), "\n", spec, options));
  } catch (const Error&) {
    return "";
  }
}

}  // namespace neon
