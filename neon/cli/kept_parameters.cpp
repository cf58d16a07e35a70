#include "neon/cli/kept_parameters.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "datasets/dataset.h"
#include "neon/cli/heeded_augmentations.h"
#include "neon/core/error.h"
#include "neon/core/params.h"
#include "neon/core/registry.h"
#include "neon/spec/notation.h"

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
  const EntryInfo* entry() const { return entry_; }
  // Calls `act` with the name of each that --set gives.
  void for_each_of_option(auto&& act) const {
    if (!entry_ || !params_->is_map()) return;
    for (const auto& [key, value, where] : params_->entries)
      if (value.where.is_option()) act(name_of(key));
  }
  // Null where the spec does not give it. The last one counts: --set puts an alias behind the name of the field.
  const Setting* find(std::string_view name) const {
    const Setting* out = nullptr;
    if (!entry_ || !params_->is_map()) return out;
    for (const auto& [key, value, where] : params_->entries)
      if (name_of(key) == name) out = &value;
    return out;
  }

 private:
  std::string name_of(const std::string& key) const {
    const Field* field = entry_->schema().find(key);
    if (!field && entry_->common) field = entry_->common().find(key);
    return field ? field->name : key;
  }

  const EntryInfo* entry_ = nullptr;
  const Setting* params_ = nullptr;
};

// Parameters, and what they decide where a checkpoint has it.
struct KeptParameters {
  bool (*has)(const SampleMeaning& meaning);
  std::span<const std::string_view> names;
  const char* what;
  bool of_any_set = true;  // false: of the run's own data set alone, others are read as their parameters say
};

// As in the parameters of CSV, Windows and Sequences.
constexpr std::string_view kOfColumns[] = {"columns",         "ignore",      "standardize",  "impute",
                                           "most_categories", "embed_above", "most_embedded"};
constexpr std::string_view kOfTokens[] = {"vocabulary_size", "min_count", "merges", "vocabulary"};
constexpr std::string_view kOfTargets[] = {"standardize"};
constexpr std::string_view kOfPixels[] = {"normalize", "sym_range"};

constexpr KeptParameters kKeptByCheckpoints[] = {
    {[](const SampleMeaning& m) { return m.table.count > 0 || !m.standard.empty(); }, kOfColumns,
     "the columns of the table"},
    {[](const SampleMeaning& m) { return !m.vocabulary.empty(); }, kOfTokens, "the tokens of the texts"},
    {[](const SampleMeaning& m) { return !m.targets.empty(); }, kOfTargets, "the units of the targets"},
    {[](const SampleMeaning& m) { return m.is_image(); }, kOfPixels, "the numbers of the pixels", false},
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

bool is_of_initial_values(std::string_view key) {
  constexpr std::string_view kKeys[] = {"init", "init_inner", "bias", "visible_bias"};
  return std::ranges::count(kKeys, key) > 0;
}

// Layers without the values that weights begin with, which training alone draws.
Setting without_initial_values(Setting layers) {
  for (auto& [key, value, where] : layers.entries) {
    const bool initializer = value.is_map() || (value.is_scalar() && is_class_name(value.value));
    value = initializer && is_of_initial_values(key) ? Setting::scalar("given") : without_initial_values(value);
  }
  for (Setting& item : layers.items) item = without_initial_values(item);
  return layers;
}

// A cost without the factors of its gradient, which training alone takes.
Setting without_scale(Setting cost) {
  std::erase_if(cost.entries, [](const Setting::Entry& entry) { return entry.key == "scale"; });
  for (auto& [key, value, where] : cost.entries) value = without_scale(value);
  for (Setting& item : cost.items) item = without_scale(item);
  return cost;
}

bool differ_in_scale_alone(const Setting* now, const Setting* then) {
  return now && then && now->to_string() != then->to_string() &&
         without_scale(*now).to_string() == without_scale(*then).to_string();
}

// The spec with all parameters of its data set, each as neon writes it: yes is true. As it is where a value is wrong.
Setting in_full(Setting spec) {
  Problems wrong;
  Made<Dataset> set;
  Setting* const data = spec.find("dataset");
  if (data) Value_of<Made<Dataset>>::read(*data, set, {}, wrong);
  if (set && wrong.empty()) *data = set.resolved();
  return spec;
}

// The spec that --set made of the run's one.
class ChangedSpec {
 public:
  ChangedSpec(const OpenedRun& opened, const Setting& before)
      : set_(opened.spec),
        old_(before),
        now_(write_params(opened.experiment->params)),
        then_(in_full(before)),
        of_data_{DataParameters(set_), DataParameters(old_), DataParameters(now_), DataParameters(then_)} {}
  ChangedSpec(const ChangedSpec&) = delete;
  ChangedSpec& operator=(const ChangedSpec&) = delete;

  // Another value, however it is written.
  bool changes_data(std::string_view name) const {
    return differ(of_data_[0].find(name), of_data_[1].find(name)) &&
           differ(of_data_[2].find(name), of_data_[3].find(name));
  }
  bool changes(std::string_view key) const {
    if (!differ(now_.find(key), then_.find(key))) return false;
    return std::ranges::any_of(set_.entries, [&](const Setting::Entry& entry) {
      const Field* const field = schema_of<ExperimentParams>().find(entry.key);  // the spec may have an alias
      return field && field->name == key && differ(&entry.value, old_.find(entry.key));
    });
  }
  // Above 0, now and before.
  bool averages() const { return is_above_0(now_); }
  bool averaged() const { return is_above_0(then_); }
  // The same of a key of one of several outputs.
  bool changes_output(std::string_view output, std::string_view key) const {
    return differ(of_output(now_, output, key), of_output(then_, output, key));
  }
  bool changes_initial_values_alone() const {
    const Setting *const now = now_.find("layers"), *const then = then_.find("layers");
    return changes("layers") && now && then &&
           without_initial_values(*now).to_string() == without_initial_values(*then).to_string();
  }
  bool changes_scale_alone() const {
    return changes("cost") && differ_in_scale_alone(now_.find("cost"), then_.find("cost"));
  }
  // As of unheeded_augmentation().
  std::optional<std::string> changes_augment_in_vain(const SampleMeaning& meaning) const {
    const Setting *const now = now_.find("augment"), *const then = then_.find("augment");
    if (!changes("augment") || !now || !then || !meaning.is_image()) return std::nullopt;
    return unheeded_augmentation(*now, *then, meaning);
  }
  bool has_other_data() const { return of_data_[0].entry() != of_data_[1].entry(); }
  bool changes_whitening() const {
    return changes("augment") && whitening_of(then_) && differ(whitening_of(now_), whitening_of(then_));
  }

 private:
  static bool is_above_0(const Setting& spec) {
    const Setting* const ema = spec.find("ema");
    double share = 0;
    return ema && parse_number(ema->value, share) && share > 0;
  }
  static const Setting* of_output(const Setting& spec, std::string_view output, std::string_view key) {
    const Setting* const outputs = spec.find("outputs");
    const Setting* const found = outputs && outputs->is_map() ? outputs->find(output) : nullptr;
    return found && found->is_map() ? found->find(key) : nullptr;
  }

  const Setting &set_, &old_;
  const Setting now_, then_;
  const DataParameters of_data_[4];
};

[[noreturn]] void refuse_kept(std::string_view key, const char* what) {
  fail(ErrorKind::config, "--set ", key, ": the checkpoint has ", what, " as the net was trained with them, and they ",
       "stay so; leave it out, or train a net anew");
}

}  // namespace

void check_kept_parameters(const OpenedRun& opened, const Setting& before) {
  const ChangedSpec spec(opened, before);
  const SampleMeaning& meaning = opened.run.meaning;
  for (const KeptParameters& kept : kKeptByCheckpoints) {
    if (!kept.has(meaning) || (!kept.of_any_set && spec.has_other_data())) continue;
    for (const std::string_view name : kept.names)
      if (spec.changes_data(name)) refuse_kept(text("dataset.", name), kept.what);
  }
  if (meaning.is_image() && !spec.has_other_data() && spec.changes("normalize"))
    refuse_kept("normalize", "the numbers of the pixels");
  if (spec.changes_whitening()) refuse_kept("augment", "the numbers of Whiten");
}

namespace {

// Keys of a spec that a verb with a trained net does not heed, and the options that it takes in their place.
struct UnusedKey {
  std::string_view key;
  bool by_eval = true;  // and by predict and sample in any case
  const char* instead = "leave it out";
};
constexpr UnusedKey kUnused[] = {
    {"class_weights"},    {"optimizer"},
    {"freeze"},           {"phases"},
    {"train_metrics"},    {"predictions"},
    {"callbacks"},        {"epochs"},
    {"shuffle"},          {"sampling"},
    {"accumulate"},       {"parallel"},
    {"metrics", false},   {"batch_size", false},
    {"normalize", false}, {"reset_period", false},
    {"rng_seed", false},  {"backend", false, "-b chooses the device"},
};

// Whether neon predict reads samples by this parameter of the data set (stored_data.h).
bool predict_heeds(const std::string& name, const OpenedRun& opened) {
  constexpr std::string_view kOfAll[] = {"decimal", "on_bad_sample", "x_train", "x_test", "array", "path"};
  constexpr std::string_view kOfTables[] = {"text", "label", "header", "delimiter"};  // of texts
  constexpr std::string_view kWithSteps[] = {"TextClasses", "IMDB", "BABI", "Sequences"};
  const DataParameters data(opened.spec);
  if (std::ranges::count(kOfTables, name)) return !opened.run.meaning.vocabulary.empty();
  if (name == "steps") return std::ranges::count(kWithSteps, data.entry()->name) > 0;
  if (name == "horizon") return opened.run.meaning.classes > 0;
  return std::ranges::count(kOfAll, name) > 0;
}

void check_samples_heeded(const std::string& verb, const ChangedSpec& spec, const OpenedRun& opened) {
  const bool predicts = verb == "predict";
  if (spec.has_other_data())
    fail(ErrorKind::config, "--set dataset changes nothing for neon ", verb, ", which ",
         predicts ? "reads the files that it is given" : "reads no samples", "; leave it out");
  DataParameters(opened.spec).for_each_of_option([&](const std::string& name) {
    if ((predicts && predict_heeds(name, opened)) || !spec.changes_data(name)) return;
    fail(ErrorKind::config, "--set dataset.", name, " changes nothing for neon ", verb, ", which ",
         predicts ? "takes samples as the net was trained with them" : "reads no samples", "; leave it out");
  });
}

[[noreturn]] void refuse_unheeded(const std::string& verb, const std::string& key, const char* instead) {
  fail(ErrorKind::config, "--set ", key, " changes nothing for neon ", verb, "; ", instead);
}

// Keys that count for some nets alone.
void check_heeded_by_net(const std::string& verb, const ChangedSpec& spec, const OpenedRun& opened) {
  const std::vector<NamedTensor>& tensors = opened.run.file.tensors;
  const bool has_means = std::ranges::any_of(tensors, [](auto& named) { return named.name.ends_with("/ema"); });
  if (spec.changes("ema") && !has_means) refuse_unheeded(verb, "ema", "the run kept no running means; leave it out");
  if (spec.changes("ema") && spec.averages() == spec.averaged())
    refuse_unheeded(verb, "ema", "0 takes the weights in place of their running means; leave it out");
  if (spec.changes_initial_values_alone())
    refuse_unheeded(verb, "layers", "its weights are trained, and it draws no initial values; leave it out");
  if (spec.changes("buckets") && (verb == "sample" || !opened.run.meaning.ragged))
    refuse_unheeded(verb, "buckets", "leave it out");
  for (const auto& [name, output] : opened.experiment->params.outputs)
    for (const char* const key : {"class_weights", "cost", "weight", "metrics"}) {
      const bool counts = verb == "eval" ? key != std::string_view("class_weights")
                                         : key == std::string_view("cost") && output.cost->of_sequences();
      if (!counts && spec.changes_output(name, key))
        refuse_unheeded(verb, text("outputs.", name, ".", key), "leave it out");
    }
}

// Parameters of training alone: how images are drawn, and the factor of the gradient.
void check_heeded_by_evaluations(const std::string& verb, const ChangedSpec& spec, const OpenedRun& opened) {
  if (verb == "sample" && spec.changes("augment")) refuse_unheeded(verb, "augment", "leave it out");
  if (const auto part = spec.changes_augment_in_vain(opened.run.meaning))
    refuse_unheeded(verb, "augment" + *part, "training alone draws images so; leave it out");
  if (spec.changes_scale_alone())
    refuse_unheeded(verb, "cost.scale", "it is a factor of the gradient, which training alone takes; leave it out");
}

}  // namespace

void check_heeded(const std::string& verb, const OpenedRun& opened) {
  const ChangedSpec spec(opened, opened.run.spec);
  const bool evaluates = verb == "eval";
  for (const UnusedKey& unused : kUnused) {
    if ((evaluates && !unused.by_eval) || !spec.changes(unused.key)) continue;
    const bool seed = verb == "sample" && unused.key == "rng_seed";
    fail(ErrorKind::config, "--set ", unused.key, " changes nothing for neon ", verb, "; ",
         seed ? "-r gives the seed" : unused.instead);
  }
  check_heeded_by_net(verb, spec, opened);
  const Made<Cost>& cost = opened.experiment->params.cost;  // CTC has the number of its blank
  if (!evaluates && spec.changes("cost") && !(cost && cost->of_sequences()))
    fail(ErrorKind::config, "--set cost changes nothing for neon ", verb, "; leave it out");
  check_heeded_by_evaluations(verb, spec, opened);
  if (!evaluates) check_samples_heeded(verb, spec, opened);
}

void check_split_heeded(const OpenedRun& opened) {
  const ChangedSpec spec(opened, opened.run.spec);
  for (const char* const key : {"validation", "subset_pct"})
    if (spec.changes_data(key))
      refuse_unheeded("eval", text("dataset.", key),
                      "it parts the training samples, and the test set is evaluated; "
                      "leave it out");
}

}  // namespace neon
