#include "neon/cli/data_paths.h"

#include <algorithm>
#include <string>

#include "datasets/archive_names.h"
#include "neon/core/params.h"
#include "neon/core/registry.h"

namespace neon {

namespace {

namespace fs = std::filesystem;
using Folders = std::vector<fs::path>;

// Keys of data sets whose values are paths. Other values stay, even where a file has their name.
constexpr std::string_view kPaths[] = {"path",        "train",        "test",         "validation_path",
                                       "test_path",   "test_list",    "root",         "manifest_filename",
                                       "test_inputs", "test_targets", "hdf_filename", "manifest_root",
                                       "image_dir",   "merges",       "vocabulary"};

// Folders to look in, and the files and folders that were found.
struct Search {
  const Folders& folders;
  std::vector<std::string> places = {};
};

// The absolute path, or pattern, of data that the first of the folders has; "" where none has it.
std::string absolute_path(const std::string& path, Search& search) {
  std::error_code error;
  for (const fs::path& folder : search.folders) {
    const std::string place = (folder / path).string();
    const bool pattern = is_pattern(place);
    const std::vector<std::string> found = pattern ? expand_pattern(place) : std::vector{place};
    if (found.empty() || !fs::exists(found.front(), error)) continue;
    search.places.insert(search.places.end(), found.begin(), found.end());
    const fs::path whole = fs::canonical(folder, error) / path, real = pattern ? whole : fs::canonical(whole, error);
    return error ? "" : real.string();
  }
  return "";
}

void name_from_root(Setting& value, Search& search) {
  double share = 0;  // "0.2" and "auto" stand where a path may stand, too
  if (!value.is_scalar() || value.value.empty() || value.value == "auto" || value.value == "none") return;
  if (detail::read_real(value, share)) return;
  if (std::string path = absolute_path(value.value, search); !path.empty()) value.value = std::move(path);
}

const EntryInfo* dataset_named(std::string_view name) {
  std::string error;
  return find_in_category("dataset", name, error);
}

// Whether the value of the key is a path, for a data set of that name.
bool is_path(const std::string& key, std::string_view dataset) {
  if (key == "inputs" || key == "targets") return dataset == "NPY";
  if (key != "fallback") return std::ranges::count(kPaths, key) > 0;
  const EntryInfo* const entry = dataset_named(dataset);
  const Field* const field = entry ? entry->schema().find(key) : nullptr;
  return field && field->type == "text";
}

// {Name: {...}}, or {Name: value} for the first parameter alone.
void name_samples(Setting& dataset, Search& search) {
  if (!dataset.is_map() || dataset.entries.empty()) return;
  const std::string& name = dataset.entries[0].key;
  Setting& params = dataset.entries[0].value;
  if (params.is_scalar()) {
    const EntryInfo* const entry = dataset_named(name);
    if (entry && !entry->schema().fields.empty() && is_path(entry->schema().fields[0].name, name))
      name_from_root(params, search);
  }
  for (auto& entry : params.entries) {
    if (entry.key == "fallback") name_samples(entry.value, search);  // may be a data set
    if (is_path(entry.key, name)) name_from_root(entry.value, search);
  }
}

// Word vectors of all layers.
void name_vectors(Setting& setting, Search& search) {
  for (Setting& item : setting.items) name_vectors(item, search);
  for (auto& entry : setting.entries) {
    if (entry.key == "vectors") name_from_root(entry.value, search);
    name_vectors(entry.value, search);
  }
}

void name_all(Setting& root, Search& search) {
  if (Setting* const dataset = root.find("dataset")) name_samples(*dataset, search);
  name_vectors(root, search);
}

}  // namespace

void name_data_from_root(Setting& root, const Folders& folders) {
  Search search{folders};
  name_all(root, search);
}

std::vector<std::string> places_of_data(Setting root, const Folders& folders) {
  Search search{folders};
  name_all(root, search);
  return search.places;
}

}  // namespace neon
