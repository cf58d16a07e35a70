#include "neon/cli/expected_files.h"

#include <filesystem>
#include <fstream>

#include "datasets/image.h"
#include "neon/cli/arguments.h"
#include "neon/core/error.h"
#include "neon/core/paths.h"
#include "neon/train/run_folder.h"

namespace neon {

namespace {

// neon complains of a missing file before its name.
bool is_there(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

[[noreturn]] void fail_folder(const std::string& path) {
  if (const std::string spec = join_path(path, kSpecFile); is_there(spec))
    fail(ErrorKind::config, path, ": expected a spec, this is a run's folder; its spec is ", spec, ", and neon resume ",
         shell_word(path), " goes on with the run");
  fail(ErrorKind::config, path, ": expected a spec, this is a folder; neon new photos ", shell_word(path),
       " prints a spec for a folder of images");
}

// The user's data where a spec is expected.
void check_is_no_data(const std::string& path) {
  const std::string_view plain = path.ends_with(".gz") ? std::string_view(path).substr(0, path.size() - 3) : path;
  if (plain.ends_with(".csv") || plain.ends_with(".tsv"))
    fail(ErrorKind::config, path, ": expected a spec, found a table's name; neon new table ", shell_word(path),
         " prints a spec for it");
  if (is_image_name(path))
    fail(ErrorKind::config, path, ": expected a spec, found an image's name; neon new photos FOLDER prints a spec for ",
         "a folder of images");
}

// As .safetensors files do: the length of a header, which is JSON.
bool begins_as_checkpoint(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  constexpr size_t kLength = 8;
  char begin[kLength + 1] = {};
  std::ifstream file(path, std::ios::binary);
  if (!file.read(begin, sizeof begin) || begin[kLength] != '{') return false;
  uint64_t header = 0;
  for (size_t i = kLength; i-- > 0;) header = header << 8 | uint8_t(begin[i]);
  return header + kLength <= std::filesystem::file_size(path, ignored);
}

}  // namespace

void check_may_be_spec(const std::string& path) {
  if (std::error_code ignored; std::filesystem::is_directory(path, ignored)) fail_folder(path);
  if (is_there(path) && (path.ends_with(".safetensors") || begins_as_checkpoint(path)))
    fail(ErrorKind::config, path, ": expected a spec, found a checkpoint",
         path.ends_with(".safetensors") ? "'s name" : "", "; neon resume ", shell_word(path), " goes on with it");
  if (is_there(path)) check_is_no_data(path);
}

void check_is_no_spec(const std::string& path, const char* expected) {
  if (is_spec(path) && is_there(path))
    fail(ErrorKind::config, path, ": expected ", expected, ", found a spec's name; neon ", shell_word(path),
         " trains it");
}

}  // namespace neon
