#include "neon/cli/read_places.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "datasets/data_context.h"
#include "datasets/image.h"
#include "neon/cli/data_paths.h"
#include "neon/core/error.h"
#include "neon/core/paths.h"
#include "neon/train/image_sheet.h"

namespace neon {

namespace {

constexpr std::array<std::string_view, 3> kTextSets = {"Text", "TextClasses", "IMDB"};

bool is_text_set(const Setting& spec) {
  const Setting* const set = spec.find("dataset");
  if (!set) return false;
  return std::ranges::count(kTextSets, set->is_map() && !set->entries.empty() ? set->entries[0].key : set->value) > 0;
}

}  // namespace

const ReadPlaces::Places& ReadPlaces::places() const {
  if (places_) return *places_;
  const Setting spec = experiment_.resolved(options_);
  std::vector<std::filesystem::path> folders;
  for (const std::string& folder : {options_.run_dir, std::string("."), options_.spec_dir, options_.data_dir})
    if (!folder.empty()) folders.emplace_back(expand_home(folder));
  if (options_.data_dir.empty()) folders.emplace_back(default_data_dir());
  return places_.emplace(places_of_data(spec, folders), is_text_set(spec));
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
