#include "neon/cli/output_place.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "neon/core/error.h"
#include "neon/train/atomic_file.h"

namespace neon {

namespace {

constexpr const char* kMendPlace = "; give another name, remove it, or give --overwrite";

}  // namespace

void check_free(const std::string& path, bool overwrite) {
  std::error_code ignored;
  if (!overwrite && std::filesystem::exists(path, ignored)) fail(ErrorKind::data, path, " exists", kMendPlace);
}

void check_replaceable(const std::string& path, std::string_view begin, const std::string& what, bool overwrite) {
  struct stat status;
  if (overwrite || stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0) return;
  const FileHandle file = open_to_read(path);
  std::string found(std::min(begin.size(), file_size(file, path)), '\0');
  read_exactly(file, 0, found.data(), found.size(), path);
  if (found != begin) fail(ErrorKind::data, path, " exists and is no ", what, kMendPlace);
}

bool may_be_checkpoint(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0) return true;
  const FileHandle file = open_to_read(path);
  std::string begin(9, '\0');  // the header's length, and the first byte of the header
  if (file_size(file, path) < begin.size()) return false;
  read_exactly(file, 0, begin.data(), begin.size(), path);
  return begin[8] == '{' && begin.substr(4, 4) == std::string(4, '\0');  // a header has less than 4 GiB
}

void write_output(const std::string& path, std::string_view content) {
  make_folder_of(path);
  AtomicFile file(path);
  file.write(content.data(), content.size());
  file.commit();
}

}  // namespace neon
