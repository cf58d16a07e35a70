// The look at the disk before a run, and keeping the place.
#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>

#include "neon/train/checkpoint.h"
#include "neon/train/checkpoint_verify.h"

namespace neon {

namespace {

// Room for `count` files of that size.
void check_room(const AtomicFile& part, const std::string& folder, double one, double count) {
  const double bytes = one * count;
  const auto too_small = [&](const std::string& why) {
    fail(ErrorKind::failed, "no room for checkpoints in ", folder, ": ", bytes_text(bytes), " needed, ", why,
         "; free some, keep fewer (-H) or give another place");
  };
  struct statvfs disk;
  if (statvfs(folder.c_str(), &disk) == 0) {
    const double room = double(disk.f_bavail) * double(disk.f_frsize);
    if (room < bytes) too_small(bytes_text(room) + " free");
  }
  // fallocate, not posix_fallocate: where the disk cannot reserve, the latter writes every block.
  if (bytes < 1 || fallocate(part.handle().get(), 0, 0, off_t(bytes)) == 0) return;
  const int error = errno;
  // Together they are more than one file may have.
  if (error == EFBIG && fallocate(part.handle().get(), 0, 0, off_t(one)) == 0) return;
  if (error == EFBIG)
    fail(ErrorKind::failed, "checkpoints of ", bytes_text(one), " cannot be written in ", folder, ": ",
         system_message(error), "; raise the limit on a file's size (ulimit -f), or give a disk that takes such files");
  if (error != EOPNOTSUPP && error != ENOSYS && error != EINVAL && error != EINTR) too_small(system_message(error));
}

// Checks the length of the older names, which grow with their numbers.
void check_name(const std::string& path, const std::string& folder) {
  const long most = pathconf(folder.c_str(), _PC_NAME_MAX);
  const std::string name = file_name_of(older_path(path, 999'999, 999'999));
  if (most > 0 && name.size() > size_t(most))
    fail(ErrorKind::failed, "the name ", file_name_of(path),
         " is too long: with epoch and number, as older checkpoints ", "are called, it has ", name.size(),
         " letters, and the disk takes ", most, "; shorten it or keep none (-H 0)");
}

}  // namespace

void CheckpointSaver::claim(int64_t bytes) {
  path_ = follow_links(path_);
  make_folder_of(path_);
  auto part = std::make_unique<AtomicFile>(path_);
  const std::string folder = folder_of(path_);
  if (history_ > 0) check_name(path_, folder);
  check_room(*part, folder, double(bytes), double(history_) + 2);  // and the one that is being written
  if (ftruncate(part->handle().get(), 0) != 0)
    fail(ErrorKind::failed, "cannot write ", part->part_path(), ": ", system_message(errno));
  claim_ = std::move(part);
}

}  // namespace neon
