#include "neon/cli/read_places.h"

#include <algorithm>
#include <filesystem>
#include <span>
#include <string_view>

#include "datasets/data_context.h"
#include "datasets/file.h"
#include "datasets/image.h"
#include "neon/cli/data_paths.h"
#include "neon/core/error.h"
#include "neon/core/paths.h"
#include "neon/train/atomic_file.h"
#include "neon/train/image_sheet.h"

namespace neon {

namespace {

// Data sets that take all files of a folder, and data sets whose tables name images.
constexpr std::string_view kOfAllFiles[] = {"Text", "TextClasses", "IMDB", "Shards"};
constexpr std::string_view kOfTables[] = {"ImageList", "BoxImages"};

bool is_set_of(std::span<const std::string_view> names, const Setting& spec) {
  const Setting* const set = spec.find("dataset");
  if (!set) return false;
  return std::ranges::count(names, set->is_map() && !set->entries.empty() ? set->entries[0].key : set->value) > 0;
}

// Whether a table may name the image, which lies in the table's folder.
bool may_name(const std::string& table, const std::string& image) {
  constexpr int64_t kMostBytes = int64_t(1) << 30;
  if (!lies_within(image, folder_of(table))) return false;
  return table.ends_with(".gz") || read_file(table, kMostBytes).find(file_name_of(image)) != std::string::npos;
}

}  // namespace

const ReadPlaces::Places& ReadPlaces::places() const {
  if (places_) return *places_;
  const Setting spec = experiment_.resolved(options_);
  std::vector<std::filesystem::path> folders;
  for (const std::string& folder : {options_.run_dir, std::string("."), options_.spec_dir, options_.data_dir})
    if (!folder.empty()) folders.emplace_back(expand_home(folder));
  if (options_.data_dir.empty()) folders.emplace_back(default_data_dir());
  return places_.emplace(places_of_data(spec, folders), is_set_of(kOfAllFiles, spec), is_set_of(kOfTables, spec));
}

void ReadPlaces::check_spares(const std::string& option, const std::string& output, bool foreign) const {
  std::error_code error;
  if (output.empty() || !std::filesystem::is_regular_file(output, error)) return;
  const std::string named = option.empty() ? output : text(option, ' ', output);
  for (const std::string& place : places().all) {
    if (std::filesystem::equivalent(output, place, error) && !error)
      fail(ErrorKind::config, named,
           " is a file that the run reads its data from, and would be lost; give another name");
    if (foreign && (places().all_files || is_image_name(output)) && std::filesystem::is_directory(place, error) &&
        lies_within(output, place))
      fail(ErrorKind::config, named, " lies in ", place,
           ", which the run reads its data from, and would be lost; give another name");
    if (foreign && places().are_tables && is_image_name(output) && std::filesystem::is_regular_file(place, error) &&
        may_name(place, output))
      fail(ErrorKind::config, named, " may be an image of ", place,
           ", which the run reads its data from, and would be lost; give another name");
  }
}

bool is_own_preview(const std::string& png) {
  try {
    check_preview_place(png);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::data) throw;
    return false;
  }
  return true;
}

void check_spares_image(const std::string& option, const std::string& png, const ReadPlaces& read) {
  read.check_spares(option, png, !is_own_preview(png));
}

}  // namespace neon
