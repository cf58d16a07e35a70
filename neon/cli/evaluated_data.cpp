#include "neon/cli/evaluated_data.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "datasets/archive_names.h"
#include "datasets/shard_folder.h"
#include "datasets/tar.h"
#include "neon/cli/expected_files.h"
#include "neon/core/nearest_file.h"
#include "neon/core/paths.h"
#include "neon/spec/yaml.h"

namespace neon {

namespace {

class DataOverrides {
 public:
  DataOverrides(const CommandLine& line, const OpenedRun& opened) : out_(line) {
    const Setting& resolved = opened.experiment->params.dataset.resolved();
    name_ = resolved.is_map() ? resolved.entries.at(0).key : resolved.value;
    std::string error;
    if (const EntryInfo* const entry = find_in_category("dataset", name_, error))
      own_ = &entry->schema(), common_ = entry->common ? &entry->common() : nullptr;
    const Setting* const set = opened.spec.find("dataset");
    if (set && set->is_map() && set->entries.size() == 1) written_ = &set->entries[0].value;
  }

  const std::string& name() const { return name_; }
  // The field of that name; null where the data set has none.
  const Field* field(const char* name) const {
    const Field* const found = own_ ? own_->find(name) : nullptr;
    return found || !common_ ? found : common_->find(name);
  }
  // Whether the column of this field is the last one, by the run's spec or by default.
  bool is_last(const Field& field) const {
    const Setting* const found = written_ && written_->is_map() ? written_->find(field.name) : nullptr;
    const Setting& column = found ? *found : field.default_value;
    return column.is_list() ? column.items.size() == 1 && column.items[0].value == "last" : column.value == "last";
  }
  // Sets a parameter, under the name that the spec has for it.
  void set(const Field& field, const std::string& value) {
    std::string key = field.name;
    for (const std::string& alias : field.aliases)
      if (written_ && written_->is_map() && written_->find(alias)) key = alias;
    out_.overrides.push_back(text("dataset.", key, "=", value));
  }
  CommandLine take() { return std::move(out_); }

 private:
  CommandLine out_;
  std::string name_;
  const Schema *own_ = nullptr, *common_ = nullptr;
  const Setting* written_ = nullptr;
};

// Whether a part of the samples is a file of its own and, by default, none; else it may be a share.
bool names_a_file(const Field& field) { return field.type == "text" && field.default_value.value.empty(); }

std::string as_json(const std::string& value) {
  return nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// How samples of a net whose data set has no path are given.
std::string other_set(const SampleMeaning& trained, const std::string& path) {
  const auto set = [&](const std::string& params) {
    return text("name its files with --set, or another data set: --set ", shell_word(text("dataset={", params, "}}")));
  };
  std::error_code ignored;
  const std::string at = text(": {path: ", yaml_text(path));
  const bool folder = std::filesystem::is_directory(path, ignored) || is_tar_name(path);
  if (!trained.vocabulary.empty() && trained.sample.rank() == 1)
    return set(text(trained.foretells_tokens() ? "Text" : "TextClasses", at,
                    ", unit: ", name_of(trained.vocabulary.unit), ", steps: ", trained.sample[0],
                    trained.foretells_tokens() ? "" : ", test: 0"));
  if (!trained.is_image()) return set("CSV" + at);
  if (!folder)
    return text("the net takes images ", trained.sample, ", give a folder or .tar of images, with a folder for each ",
                "class");
  const SampleSize size(trained.sample[1], trained.sample[2]);
  return set(text("ImageFolder", at, ", size: ", size.to_string(), ", channels: ", trained.sample[0]));
}

// The kind of data set that reads images at `path`; "" where that is neither a list nor a folder or archive.
std::string image_set_at(const std::string& path) {
  std::error_code ignored;
  if (is_shard_folder(path)) return "Shards";
  if (path.ends_with(".csv") || path.ends_with(".tsv")) return "ImageList";
  const bool folder = std::filesystem::is_directory(path, ignored) || is_tar_name(path);
  return folder || (is_pattern(path) && !std::filesystem::exists(path, ignored)) ? "ImageFolder" : "";
}

// Whether samples had the size of the pixels in shards, which the spec need not repeat.
bool takes_packed_size(const OpenedRun& opened) {
  const Setting& resolved = opened.experiment->params.dataset.resolved();
  if (!resolved.is_map()) return false;
  const auto& [name, own, where] = resolved.entries.at(0);
  const Setting* const size = own.find("size");
  return name == "Shards" && size && size->value == "0";
}

std::string size_of_samples(const OpenedRun& opened) {
  const Shape& sample = opened.run.meaning.sample;
  return SampleSize(sample[1], sample[2]).to_string();
}

// The data set that reads `path` in place of the run's, with the image parameters of the run's: a folder, a list or
// shards. "" where the run's own reads `path`.
std::string other_images(const OpenedRun& opened, const std::string& path) {
  const Setting& resolved = opened.experiment->params.dataset.resolved();
  if (!resolved.is_map()) return "";
  const auto& [name, own, where] = resolved.entries.at(0);
  const std::string there = image_set_at(path);
  const bool of_images = name == "ImageFolder" || name == "ImageList" || name == "Shards";
  if (!of_images || there.empty() || there == name) return "";
  if (const Setting* const targets = own.find("targets"); targets && targets->is_map() && !targets->entries.empty()) {
    std::vector<std::string> columns;
    for (const auto& target : targets->entries) columns.push_back(target.key);
    fail(ErrorKind::config, path, ": the net was trained with the targets ", list_text(columns),
         ", and these images have a class alone; give a list .csv of the images with these columns");
  }
  std::string out = text("dataset={", there, ": {path: ", as_json(std::filesystem::absolute(path).string()));
  if (there == "ImageFolder") out += ", test: 0";
  if (there == "ImageList") out += ", missing: []";
  for (const char* const key :
       {"size", "channels", "normalize", "on_bad_sample", "stream", "memory_share", "autoencoder", "reconstruct"}) {
    const Setting* const value = own.find(key);
    if (!value) continue;
    const bool packed = key == std::string_view("size") && takes_packed_size(opened);
    out += text(", ", key, ": ", packed ? size_of_samples(opened) : value->to_string());
  }
  return out + "}}";
}

}  // namespace

CommandLine line_for_data(const CommandLine& line, const OpenedRun& opened, const std::string& path) {
  std::error_code ignored;
  const bool pattern = path.find_first_of("*{") != path.npos;
  if (!pattern && !std::filesystem::exists(path, ignored))
    fail(ErrorKind::data, path, ": there is no such file or folder", nearest_file(path));
  check_is_no_spec(path, kSamplesExpected);
  DataOverrides overrides(line, opened);
  const Field* const place = overrides.field("path");
  if (!place)
    fail(ErrorKind::config, path, ": the net was trained with the data set ", overrides.name(),
         ", which is read from no single file or folder; ", other_set(opened.run.meaning, path));
  if (std::string images = other_images(opened, path); !images.empty()) {
    CommandLine out = line;
    out.overrides.insert(out.overrides.begin(), std::move(images));
    return out;
  }
  overrides.set(*place, as_json(std::filesystem::absolute(path).string()));
  // No part of DATA is kept apart, and no file of the run's is read beside it.
  for (const char* const name : {"test", "validation", "folds", "fold", "test_list", "test_path", "validation_path"})
    if (const Field* const field = overrides.field(name); field && !field->required)
      overrides.set(*field, names_a_file(*field) ? "\"\"" : "0");
  if (const Field* const field = overrides.field("subset_pct")) overrides.set(*field, "100");
  if (takes_packed_size(opened)) overrides.set(*overrides.field("size"), size_of_samples(opened));
  // The target goes by its name, as the features do, where the spec has its place.
  const TableColumns& columns = opened.run.meaning.table;
  if (const Field* const target = overrides.field("target"); target && opened.run.meaning.targets.empty() &&
                                                             overrides.is_last(*target) && !columns.features.empty() &&
                                                             !columns.others.empty())
    overrides.set(*target, as_json(columns.others.back()));
  // Classes without a name, of which some have no sample.
  const SampleMeaning& trained = opened.run.meaning;
  if (const Field* const classes = overrides.field("classes");
      classes && trained.class_names.empty() && trained.classes)
    overrides.set(*classes, std::to_string(trained.classes));
  if (const Field* const task = overrides.field("task"); task && trained.targets.empty())
    overrides.set(*task, opened.run.meaning.classes > 0 ? "classes" : "regression");
  return overrides.take();
}

void check_columns(const Data& data, const SampleMeaning& trained, const std::string& path) {
  const std::vector<std::string>&here = data.table.features, &there = trained.table.features;
  if (!trained.table.codes.empty() || here.empty() || there.empty() || here == there) return;
  fail(ErrorKind::data, path, ": its columns are ", join(here, ", "), ", those of the table trained with ",
       join(there, ", "), "; give the file the same columns in the same order");
}

}  // namespace neon
