// Loading the newest checkpoint that verifies.
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "neon/core/message.h"
#include "neon/core/nearest_file.h"
#include "neon/train/checkpoint.h"
#include "neon/train/checkpoint_verify.h"
#include "neon/train/file_lock.h"

namespace neon {

namespace {

bool exists(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0;
}

// The nearest name; where none is near, the runs of this folder.
std::string nearest_or_runs(const std::string& given) {
  if (const std::string near = nearest_file(given); !near.empty()) return near;
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator at("runs", error), end; !error && at != end; at.increment(error))
    names.push_back(at->path().string());
  std::ranges::sort(names);
  return names.empty() ? "" : text("; the runs here are ", list_text(names, ", ", 3));
}

// Runs that are known.
bool differ(const std::string& run, const std::string& other) { return !run.empty() && !other.empty() && run != other; }

}  // namespace

TensorFile read_checkpoint(const std::string& path) {
  const SafetensorsReader reader(path);
  const auto sums = check_header(reader, path);
  TensorFile out;
  out.path = path;
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
  if (exists(path + ".part") && !is_in_use(path + ".part"))
    warnings.push_back(text(path, ".part is left over from a save that was interrupted; it is ignored"));
  std::vector<std::string> candidates = {path};
  for (OlderCheckpoint& older : older_checkpoints(path)) candidates.push_back(std::move(older.path));
  std::vector<std::string> reasons;
  for (const std::string& candidate : candidates) {
    if (!reasons.empty() && differ(run_of(path), run_of(candidate))) {
      reasons.push_back(text(candidate, " is of another run; by its own name it can be used"));
      continue;
    }
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
  if (reasons.size() == 1 && !exists(path))
    fail(ErrorKind::data, given, ": there is no such checkpoint", nearest_or_runs(given));
  if (reasons.size() == 1) fail(ErrorKind::data, reasons.front());
  fail(ErrorKind::data, "no sound checkpoint at ", given, ": ", join(reasons, "; "));
}

}  // namespace neon
