#include "datasets/data_context.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "datasets/file.h"
#include "neon/core/error.h"
#include "neon/core/message.h"
#include "neon/core/nearest_file.h"
#include "neon/core/paths.h"
#include "neon/core/text.h"

namespace neon {

std::string default_data_dir() {
  if (const char* own = std::getenv("NEON_DATA_DIR"); own && *own) return expand_home(own);
  const std::string nervana = expand_home("~/nervana/data");
  return folder_exists(nervana) ? nervana : cache_dir();
}

std::string DataContext::data_folder() const {
  if (data_dir.empty()) return default_data_dir();
  std::string out = expand_home(data_dir);
  if (limits && !limits->allow(out)) limits->refuse(out, "", out);
  return out;
}

std::vector<std::string> DataContext::all_places_of(const std::string& path) const {
  const std::string expanded = expand_home(path);
  if (expanded.starts_with('/')) return {expanded};
  std::vector<std::string> out, known;
  const std::string data = data_dir.empty() ? default_data_dir() : expand_home(data_dir);
  for (const std::string& folder : {run_dir, std::string(), spec_dir, data}) {
    std::string place = join_path(folder, expanded);
    std::error_code error;
    const auto absolute = std::filesystem::absolute(place, error).lexically_normal().string();
    if (std::ranges::count(known, absolute)) continue;
    known.push_back(absolute);
    out.push_back(std::move(place));
  }
  return out;
}

std::vector<std::string> DataContext::places_of(const std::string& path) const {
  std::vector<std::string> out = all_places_of(path);
  if (limits) std::erase_if(out, [&](const std::string& place) { return !limits->allow(place); });
  return out;
}

void DataContext::refuse_forbidden(const std::string& path) const {
  if (!limits) return;
  for (const std::string& place : all_places_of(path))
    if (!limits->allow(place)) limits->refuse(place, path, place);
}

void DataContext::check_may_read(const std::string& place, const std::string& path) const {
  if (limits) limits->check(place, path);
}

void DataContext::warn(std::string line) const {
  if (warnings) warnings->push_back(printable(line));  // names of files may hold anything
}

void DataContext::warn_of_stand_in(const std::string& missing, const std::string& stand_in) const {
  warn(text(missing, " is not here", may_download ? " and could not be downloaded" : "", "; ", stand_in,
            " stands in, so results say nothing about ", missing));
  warn(text("to get ", missing, ": neon data fetch ", missing));
}

namespace {

// A hint where a share stands in the place of a file's name, as in test: 0.25; else "".
std::string share_hint(const std::string& path) {
  double share = 0;
  if (!parse_number(path, share) || share <= 0 || share >= 1) return "";
  return text("; a file is expected here, and no share: validation: ", path,
              " keeps that share of the training samples apart");
}

}  // namespace

std::string find_data_file(const std::string& path, const DataContext& context, std::string& looked_for) {
  if (path.empty()) fail(ErrorKind::config, "the name of a file is empty");
  const std::vector<std::string> places = context.places_of(path);
  for (const std::string& place : places) {
    if (file_exists(place)) return place;
    if (folder_exists(place)) fail(ErrorKind::data, place, ": expected a file, this is a folder");
    std::error_code ignored;
    if (std::filesystem::exists(place, ignored))
      fail(ErrorKind::data, place, ": expected a regular file, this is a pipe or a device");
  }
  context.refuse_forbidden(path);
  looked_for = list_text(places) + nearest_file(path) + share_hint(path);
  return "";
}

std::string find_data_file(const std::string& path, const DataContext& context) {
  std::string looked_for;
  std::string found = find_data_file(path, context, looked_for);
  if (found.empty()) fail(ErrorKind::data, path, ": no such file; looked for ", looked_for);
  return found;
}

}  // namespace neon
