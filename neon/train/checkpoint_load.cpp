// Loading the newest checkpoint that verifies, and the look at the disk before a run.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cerrno>

#include "neon/train/atomic_file.h"
#include "neon/train/checkpoint.h"
#include "neon/train/checkpoint_verify.h"

namespace neon {

namespace {

bool there(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0;
}

}  // namespace

TensorFile read_checkpoint(const std::string& path) {
  const SafetensorsReader reader(path);
  const auto sums = check_header(reader, path);
  TensorFile out;
  out.metadata = reader.header().metadata;
  out.metadata.erase(kChecksumsKey);
  out.metadata.erase(kHeaderChecksumKey);
  for (const TensorEntry& entry : reader.header().entries) {
    Tensor tensor = reader.read(entry);
    if (checksum(tensor.data(), tensor.bytes()) != sums.at(entry.name))
      fail(ErrorKind::data, path, ": tensor ", in_quotes(entry.name),
           " does not have its checksum; the file is damaged");
    out.tensors.push_back({entry.name, std::move(tensor)});
  }
  return out;
}

TensorFile load_checkpoint(const std::string& given, std::vector<std::string>& warnings) {
  const std::string path = follow_links(given);
  if (there(path + ".part"))
    warnings.push_back(text(path, ".part is left over from a save that was interrupted; it is ignored"));
  std::vector<std::string> candidates = {path};
  for (OlderCheckpoint& older : older_checkpoints(path)) candidates.push_back(std::move(older.path));
  std::vector<std::string> reasons;
  for (const std::string& candidate : candidates) {
    try {
      TensorFile out = read_checkpoint(candidate);
      warnings.insert(warnings.end(), reasons.begin(), reasons.end());
      if (!reasons.empty()) warnings.push_back(text("using the older checkpoint ", candidate));
      return out;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::data) throw;
      reasons.push_back(error.what());
    }
  }
  fail(ErrorKind::data, "no sound checkpoint at ", given, ": ", join(reasons, "; "));
}

void preflight(const std::string& path, int64_t bytes) {
  make_folder_of(follow_links(path));
  AtomicFile probe(path);
  const std::string folder = folder_of(probe.path());
  struct statvfs disk;
  const bool known = statvfs(folder.c_str(), &disk) == 0;
  const double room = known ? double(disk.f_bavail) * double(disk.f_frsize) : 0;
  const auto too_small = [&](const std::string& why) {
    fail(ErrorKind::failed, "no room for checkpoints in ", folder, ": ", bytes_text(double(bytes)), " needed, ", why,
         "; free some or give another place");
  };
  if (known && room < double(bytes)) too_small(bytes_text(room) + " free");
  // fallocate, not posix_fallocate: where the disk cannot reserve, the latter writes every block.
  if (bytes > 0 && fallocate(probe.handle().get(), 0, 0, off_t(bytes)) != 0) {
    const int error = errno;
    if (error != EOPNOTSUPP && error != ENOSYS && error != EINVAL && error != EINTR) too_small(system_message(error));
  }
}

}  // namespace neon
