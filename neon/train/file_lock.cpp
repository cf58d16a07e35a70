#include "neon/train/file_lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace neon {

namespace {

struct flock whole_file(bool writing) {
  struct flock lock {};
  lock.l_type = short(writing ? F_WRLCK : F_RDLCK);
  lock.l_whence = SEEK_SET;
  return lock;
}

bool same_file(int a, int b) {
  struct stat x, y;
  return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_ino == y.st_ino && x.st_dev == y.st_dev;
}

}  // namespace

bool lock_file(int descriptor, bool writing) {
  struct flock lock = whole_file(writing);
  return fcntl(descriptor, F_OFD_SETLK, &lock) == 0 || (errno != EAGAIN && errno != EACCES);
}

bool is_in_use(const std::string& path, int ours) {
  // O_NONBLOCK: a pipe must not hang us.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return false;
  struct flock lock = whole_file(true);
  const bool locked = fcntl(descriptor, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  const bool out = locked && !(ours >= 0 && same_file(descriptor, ours));
  close(descriptor);
  return out;
}

}  // namespace neon
