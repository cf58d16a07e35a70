#include "neon/core/nearest_file.h"

#include <filesystem>

#include "neon/core/message.h"
#include "neon/core/paths.h"

namespace neon {

namespace {

namespace fs = std::filesystem;

// Names in a folder; a folder of very many is not searched to its end.
std::vector<std::string> names_in(const fs::path& folder, bool (*fits)(const std::string& path)) {
  constexpr size_t kMost = 1000;
  std::vector<std::string> out;
  std::error_code error;
  fs::directory_iterator it(folder.empty() ? "." : folder, error), end;
  for (size_t seen = 0; !error && it != end && seen < kMost; it.increment(error), ++seen)
    if (!fits || fits(it->path().string())) out.push_back(it->path().filename().string());
  return out;
}

std::string did_you_mean_file(const fs::path& path, bool (*fits)(const std::string& path)) {
  const std::vector<std::string> near = nearest(path.filename().string(), names_in(path.parent_path(), fits));
  return near.empty() ? "" : "; did you mean " + list_text(near, " or ") + "?";
}

}  // namespace

std::string nearest_file(const std::string& given, bool (*fits)(const std::string& path)) {
  fs::path path(expand_home(given));
  if (!path.has_filename()) path = path.parent_path();  // "photos/"
  std::error_code ignored;
  if (path.parent_path().empty() || fs::exists(path.parent_path(), ignored)) return did_you_mean_file(path, fits);
  fs::path missing = path.parent_path();
  while (missing.has_parent_path() && missing != missing.parent_path() && !fs::exists(missing.parent_path(), ignored))
    missing = missing.parent_path();
  return text("; there is no folder ", missing.string(), did_you_mean_file(missing, nullptr));
}

}  // namespace neon
