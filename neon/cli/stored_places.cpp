#include "neon/cli/stored_places.h"

#include "datasets/file.h"
#include "neon/core/paths.h"
#include "neon/train/atomic_file.h"

namespace neon {

namespace {

// The parameters of the spec's data set; null where it has none.
const Setting* parameters_of_dataset(const Setting& spec) {
  const Setting* const set = spec.find("dataset");
  const bool has_any = set && set->is_map() && set->entries.size() == 1 && set->entries[0].value.is_map();
  return has_any ? &set->entries[0].value : nullptr;
}

}  // namespace

std::optional<ReadLimits> read_limits(const CommandLine& line, const OpenedRun& opened, const std::string& path) {
  if (opened.run.is_own) return std::nullopt;
  ReadLimits out;
  out.asks = path;
  out.own = {folder_of(follow_links(path)), "."};
  try {
    out.named = {default_data_dir(), cache_dir()};
  } catch (const Error&) {  // the user has no such folders
  }
  if (line.run_options.find("data_dir")) out.named.push_back(expand_home(line.run().data_dir));
  const Setting* const parameters = parameters_of_dataset(opened.spec);
  if (!parameters) return out;
  for (const auto& [key, value, where] : parameters->entries) {
    if (!value.is_scalar()) continue;
    out.keys.emplace(value.value, "dataset." + key);
    if (!value.where.is_option() || value.value.size() < 2) continue;  // "/" is a delimiter
    const std::string named = expand_home(value.value);
    out.named.push_back(named);
    if (file_exists(named)) out.named.push_back(folder_of(named));  // a list's images lie beside it
  }
  return out;
}

void forget_forbidden_places(RunOptions& options, const ReadLimits& limits) {
  options.run_dir = current_dir();
  for (std::string* folder : {&options.spec_dir, &options.data_dir})
    if (!folder->empty() && !limits.allow(*folder)) folder->clear();
}

}  // namespace neon
