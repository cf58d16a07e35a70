#include "neon/cli/kept_parameters.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "neon/core/error.h"
#include "neon/core/params.h"
#include "neon/core/registry.h"

namespace neon {

namespace {

// The parameters of a spec's data set by the names of their fields, whatever alias the spec has.
class DataParameters {
 public:
  explicit DataParameters(const Setting& spec) {
    const Setting* const data = spec.find("dataset");
    if (!data || !data->is_map() || data->entries.size() != 1) return;
    std::string error;
    entry_ = find_in_category("dataset", data->entries[0].key, error);
    params_ = &data->entries[0].value;
  }
  // Calls `act` with the name of each that --set gives.
  void for_each_of_option(auto&& act) const {
    if (!entry_ || !params_->is_map()) return;
    for (const auto& [key, value, where] : params_->entries) {
      const Field* const field = entry_->schema().find(key);
      if (value.where.is_option()) act(field ? field->name : key);
    }
  }
  // Null where the spec does not give it. The last one counts: --set puts an alias behind the name of the field.
  const Setting* find(std::string_view name) const {
    const Setting* out = nullptr;
    if (!entry_ || !params_->is_map()) return out;
    const Schema& schema = entry_->schema();
    for (const auto& [key, value, where] : params_->entries)
      if (const Field* const field = schema.find(key); field && field->name == name) out = &value;
    return out;
  }

 private:
  const EntryInfo* entry_ = nullptr;
  const Setting* params_ = nullptr;
};

// Parameters, and what they decide where a checkpoint has it.
struct KeptParameters {
  bool (*has)(const SampleMeaning& meaning);
  std::span<const std::string_view> names;
  const char* what;
};

// As in the parameters of CSV, Windows and Sequences.
constexpr std::string_view kOfColumns[] = {"columns", "ignore", "standardize", "impute", "most_categories"};
constexpr std::string_view kOfTokens[] = {"vocabulary_size", "min_count", "merges", "vocabulary"};
constexpr std::string_view kOfTargets[] = {"standardize"};
constexpr std::string_view kOfPixels[] = {"normalize", "sym_range"};

constexpr KeptParameters kKeptByCheckpoints[] = {
    {[](const SampleMeaning& m) { return m.table.count > 0 || !m.standard.empty(); }, kOfColumns,
     "the columns of the table"},
    {[](const SampleMeaning& m) { return !m.vocabulary.empty(); }, kOfTokens, "the tokens of the texts"},
    {[](const SampleMeaning& m) { return !m.targets.empty(); }, kOfTargets, "the units of the targets"},
    {[](const SampleMeaning& m) { return m.is_image(); }, kOfPixels, "the numbers of the pixels"},
};

// What --set says, where the run's spec says otherwise.
bool differ(const Setting* set, const Setting* old) { return set && (!old || old->to_string() != set->to_string()); }

// The augmentation that learns from the training images; null without it.
const Setting* whitening_of(const Setting& spec) {
  const Setting* const augment = spec.find("augment");
  if (!augment) return nullptr;
  for (const Setting& item : augment->items)
    if (item.is_map() && item.entries.size() == 1 && item.entries[0].key == "Whiten") return &item;
  return nullptr;
}

[[noreturn]] void refuse_kept(std::string_view key, const char* what) {
  fail(ErrorKind::config, "--set ", key, ": the checkpoint has ", what, " as the net was trained with them, and they ",
       "stay so; leave it out, or train a net anew");
}

}  // namespace

void check_kept_parameters(const OpenedRun& opened, const Setting& before) {
  const DataParameters now(opened.spec), then(before);
  for (const KeptParameters& kept : kKeptByCheckpoints) {
    if (!kept.has(opened.run.meaning)) continue;
    for (const std::string_view name : kept.names)
      if (differ(now.find(name), then.find(name))) refuse_kept(text("dataset.", name), kept.what);
  }
  if (opened.run.meaning.is_image() && differ(opened.spec.find("normalize"), before.find("normalize")))
    refuse_kept("normalize", "the numbers of the pixels");
  const Setting *const whitens = whitening_of(opened.spec), *const whitened = whitening_of(before);
  if (whitened && differ(whitens, whitened)) refuse_kept("augment", "the numbers of Whiten");
}

void check_heeded_by_predict(const OpenedRun& opened) {
  constexpr std::string_view kHeeded[] = {"decimal", "on_bad_sample", "x_train",   "x_test", "array",   "text",
                                          "label",   "header",        "delimiter", "steps",  "horizon", "path"};
  DataParameters(opened.spec).for_each_of_option([&](const std::string& name) {
    if (std::ranges::count(kHeeded, name) == 0)
      fail(ErrorKind::config, "--set dataset.", name, " changes nothing for neon predict, which takes samples as the ",
           "net was trained with them; leave it out");
  });
}

}  // namespace neon
