#include "neon/spec/older_data.h"

#include <algorithm>
#include <optional>

#include "neon/core/params.h"
#include "neon/core/text.h"

namespace neon {

namespace {

constexpr const char* kSets[] = {"MNIST", "CIFAR10", "CIFAR100", "PTB", "Shakespeare", "HutterPrize", "IMDB", "BABI"};
constexpr std::string_view kPartOfPTB = "ptb-";  // 1.0 named a set for each split
constexpr const char* kImageNet = "i1k";
constexpr const char* kImageNetSide = "256";
constexpr const char* kImageNetCrop = "224";
// neon's loaders subtracted these from R, G and B.
constexpr const char* kOlderMeans[] = {"127", "119", "104"};
const std::vector<std::string> kFolders = {"path", "repo_dir", "data_dir", "manifest_root"};
// Keys that changed what the net saw.
constexpr const char* kChanging[] = {"train_config", "scale_range", "rgb", "contrast_range", "aspect_ratio"};
const std::vector<std::string> kLoaderKeys = {
    "train_config", "test_config",       "scale_range",     "do_transforms", "rgb",
    "shuffle",      "set_name",          "nlabels",         "macro",         "contrast_range",
    "aspect_ratio", "manifest_filename", "cache_directory", "batch_size",    "dtype"};

bool begins_with_upper(const std::string& text) { return !text.empty() && text[0] >= 'A' && text[0] <= 'Z'; }

Setting object(const std::string& name, Setting params, const Location& where) {
  if (params.entries.empty()) return Setting::scalar(name, where);
  return Setting::map({{name, std::move(params), where}}, where);
}

// The value of the first of the keys, which goes.
std::optional<Setting> take(Setting& options, const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    const auto found = std::ranges::find(options.entries, key, &Setting::Entry::key);
    if (found == options.entries.end()) continue;
    Setting out = std::move(found->value);
    options.entries.erase(found);
    return out;
  }
  return std::nullopt;
}

Setting pixel_means(const Location& where) {
  Setting mean = Setting::list({}, where);
  for (const char* each : kOlderMeans) mean.items.push_back(Setting::scalar(each, where));
  return Setting::map({{"mean", std::move(mean), where}}, where);
}

// How a file of 1.x wants images of i1k changed.
struct ImageNetAsked {
  Setting height, width;
  bool transforms = true, flips = true;
};

bool is_false(const std::optional<Setting>& given) {
  bool value = true;
  return given && detail::read_bool(*given, value) && !value;
}

// The loader of 1.7 and later was asked in maps: {image: {height: 224, width: 224, flip_enable: true}}.
void read_train_config(Setting& config, ImageNetAsked& asked) {
  Setting* const image = config.is_map() ? config.find("image") : nullptr;
  if (!image || !image->is_map()) return;
  if (const auto height = take(*image, {"height"})) asked.height = asked.width = *height;
  if (const auto width = take(*image, {"width"})) asked.width = *width;
  if (asked.height.is_null()) asked.height = asked.width;
  asked.flips = !is_false(take(*image, {"flip_enable", "flip"}));
  if (image->entries.empty()) take(config, {"image"});
  take(config, {"type"});  // image,label
}

ImageNetAsked asked_of_image_net(Setting& options) {
  ImageNetAsked out;
  if (const auto inner = take(options, {"inner_size"})) out.height = out.width = *inner;
  out.transforms = !is_false(take(options, {"do_transforms"}));
  if (auto config = take(options, {"train_config"})) {
    read_train_config(*config, out);
    if (!config->is_map() || !config->entries.empty())
      options.entries.push_back({"train_config", *config, config->where});
  }
  return out;
}

Setting augmentations_of(const ImageNetAsked& asked, const Location& where) {
  Setting crop = asked.height.is_null() ? Setting::scalar(kImageNetCrop, where) : asked.height;
  if (asked.height.value != asked.width.value) crop = Setting::list({asked.height, asked.width}, where);
  Setting size = Setting::map({{"size", std::move(crop), where}}, where);
  Setting out = Setting::list({object(asked.transforms ? "RandomCrop" : "CenterCrop", std::move(size), where)}, where);
  if (asked.transforms && asked.flips) out.items.push_back(Setting::scalar("Flip", where));
  return out;
}

// Keys of a loader's map that said how images reach the net, not what is done to them.
constexpr const char* kIdle[] = {"manifest_filename", "manifest_root",  "cache_directory",     "minibatch_size",
                                 "macrobatch_size",   "block_size",     "batch_size",          "shuffle_every_epoch",
                                 "shuffle_manifest",  "shuffle_enable", "decode_thread_count", "label"};

// 'train_config.image.scale', 'scale_range': the keys of an entry that changed images.
std::vector<std::string> left_of(const Setting::Entry& entry, const std::string& before) {
  if (!entry.value.is_map()) return {in_quotes(before + entry.key)};
  std::vector<std::string> out;
  for (const Setting::Entry& inner : entry.value.entries)
    if (!std::ranges::count(kIdle, inner.key))
      for (std::string& key : left_of(inner, before + entry.key + ".")) out.push_back(std::move(key));
  return out;
}

// A run prints it, too.
void warn_of_left_out(const Setting::Entry& entry, Conversion& conversion, std::vector<std::string>& notes) {
  const std::vector<std::string> left = left_of(entry, "");
  if (left.empty()) {
    notes.push_back(text(entry.where, ": other keys of ", in_quotes(entry.key), " change no image and are left out"));
    return;
  }
  const std::string said = text(list_text(left), " of i1k's loader ", left.size() == 1 ? "is" : "are",
                                " left out; `augment` says what changes images here");
  conversion.warnings.push_back({entry.where, said});
  notes.push_back(text(entry.where, ": ", said));
}

void convert_image_net(Setting& root, Setting options, const Location& where, Conversion& conversion,
                       std::vector<std::string>& notes, Problems& problems) {
  const Setting folder = take(options, kFolders).value_or(Setting::scalar(kImageNet, where));
  const ImageNetAsked asked = asked_of_image_net(options);
  Setting params = Setting::map({{"path", folder, where},
                                 {"size", Setting::scalar(kImageNetSide, where), where},
                                 {"normalize", Setting::scalar("false", where), where}},
                                where);
  if (const auto shuffle = take(options, {"shuffle"}); is_false(shuffle) && !root.find("shuffle"))
    root.entries.push_back({"shuffle", *shuffle, shuffle->where});
  for (Setting::Entry& entry : options.entries) {
    if (entry.key == "subset_pct") params.entries.push_back(std::move(entry));
    else if (std::ranges::count(kChanging, entry.key)) warn_of_left_out(entry, conversion, notes);
    else if (std::ranges::count(kLoaderKeys, entry.key))
      notes.push_back(text(entry.where, ": ", in_quotes(entry.key), " of i1k's loader is left out"));
    else
      problems.add(entry.where, "dataset",
                   text("unknown key ", in_quotes(entry.key), did_you_mean(entry.key, kLoaderKeys)));
  }
  *root.find("dataset") = object("Shards", std::move(params), where);
  notes.push_back(text(where, ": i1k is read from the folder ", folder.value,
                       ", which is made once from ImageNet's archives: neon "
                       "data pack FOLDER ",
                       shell_word(folder.value)));
  if (!root.find("augment")) {
    Setting augment = augmentations_of(asked, where);
    notes.push_back(text(where, ": augment: ", augment.to_string(), "; an evaluation takes the middle"));
    root.entries.push_back({"augment", std::move(augment), where});
  }
  if (!root.find("normalize")) {
    root.entries.push_back({"normalize", pixel_means(where), where});
    notes.push_back(text(where,
                         ": normalize subtracts 127 of red, 119 of green and 104 of blue; neon 1.x took them in the "
                         "order of its images, blue first, though ImageNet's red is the brightest"));
  }
}

// Whether the key asks CIFAR-10 for something. The data set refuses a value other than true and false.
std::optional<Location> asked_of_cifar(Setting& options, const char* key) {
  const std::optional<Setting> given = take(options, {key});
  bool asked = false;
  if (!given) return std::nullopt;
  if (!detail::read_bool(*given, asked)) options.entries.push_back({key, *given, given->where});
  return asked ? std::optional(given->where) : std::nullopt;
}

// Each image of CIFAR-10 had its contrast normalised, and then was whitened, before anything else changed it.
void convert_cifar_images(Setting& root, Setting& options, std::vector<std::string>& notes) {
  std::vector<Setting> first;
  for (const auto& [key, name] : {std::pair("contrast_normalize", "ContrastNormalize"), std::pair("whiten", "Whiten")})
    if (const std::optional<Location> where = asked_of_cifar(options, key)) {
      first.push_back(Setting::scalar(name, *where));
      notes.push_back(text(*where, ": ", in_quotes(key), " is ", name, " of augment"));
    }
  if (first.empty()) return;
  const Location where = first.front().where;
  if (!root.find("augment")) root.entries.push_back({"augment", Setting::list({}, where), where});
  Setting& augment = *root.find("augment");
  if (!augment.is_list()) augment = Setting::list({augment}, where);
  augment.items.insert(augment.items.begin(), first.begin(), first.end());
}

void rename_steps(Setting& options, std::vector<std::string>& notes) {
  const std::optional<Setting> given = take(options, {"timesteps", "time_steps"});
  if (!given) return;
  options.entries.push_back({"steps", *given, given->where});
  notes.push_back(text(given->where, ": timesteps of the data set are its steps"));
}

// Arguments of a class of texts, which got none from a file.
void leave_out_arguments(Setting& options, Conversion& conversion, std::vector<std::string>& notes) {
  for (const char* key : {"tokenizer", "onehot_input", "reverse_target", "get_prev_target"}) {
    const std::optional<Setting> given = take(options, {key});
    if (!given) continue;
    const std::string said = text(in_quotes(key), " is left out: neon 1.x gave the data set of a file no arguments; ",
                                  "`unit` says here what a token is");
    conversion.warnings.push_back({given->where, said});
    notes.push_back(text(given->where, ": ", said));
  }
}

// qa15_basic-deduction, the begin of the task's files, or qa15 is task 15.
void number_task(Setting& options, std::vector<std::string>& notes) {
  Setting* const task = options.find("task");
  if (!task || !task->is_scalar() || !task->value.starts_with("qa")) return;
  const size_t end = std::min(task->value.find('_'), task->value.size());
  const std::string digits = task->value.substr(2, end - 2);
  if (digits.empty() || digits.find_first_not_of("0123456789") != digits.npos) return;  // BABI refuses it
  notes.push_back(text(task->where, ": task: ", task->value, " is ", digits, " here"));
  *task = Setting::scalar(digits, task->where);
}

void add_fallback(Setting& options, const Location& where, std::vector<std::string>& notes) {
  if (options.find("fallback")) return;
  options.entries.push_back({"fallback", Setting::scalar("Digits", where), where});
  notes.push_back(text(where,
                       ": fallback: digits that neon draws stand in for MNIST where MNIST is not here and cannot be "
                       "downloaded"));
}

// MNIST drew an order once, if asked to; neon 1.x kept it in all epochs.
void leave_out_shuffle(const Setting& root, Setting& options, std::vector<std::string>& notes) {
  if (const std::optional<Setting> given = take(options, {"shuffle"}))
    notes.push_back(text(given->where,
                         ": 'shuffle' of the data set is left out; shuffle of the spec draws a new order "
                         "in each epoch"));
  if (!root.find("shuffle"))
    notes.push_back(text(root.where,
                         ": samples come in a new order in each epoch, where neon 1.x kept theirs; "
                         "shuffle: false keeps it"));
}

}  // namespace

void convert_older_dataset(Setting& root, Conversion& conversion, std::vector<std::string>& notes, Problems& problems) {
  Setting* const dataset = root.find("dataset");
  if (!dataset) return;
  if (dataset->is_scalar() && !dataset->value.empty() && !begins_with_upper(dataset->value))
    *dataset = Setting::map({{"name", *dataset, dataset->where}}, dataset->where);
  if (!dataset->is_map() || dataset->find("type")) return;
  Setting* const given = dataset->find("name");
  if (!given) {
    const bool is_ours = dataset->entries.size() == 1 && begins_with_upper(dataset->entries[0].key);
    if (!is_ours) problems.add(*dataset, "'name' is missing: the dataset, as in name: mnist");
    return;
  }
  if (!given->is_scalar() || given->value.empty()) {
    problems.add(*given, text("expected the name of a dataset, found ", given->describe()));
    return;
  }
  std::string name = given->value;
  const Location where = given->where;
  Setting options = *dataset;
  take(options, {"name"});
  if (lower(name) == kImageNet) return convert_image_net(root, std::move(options), where, conversion, notes, problems);
  if (name.starts_with(kPartOfPTB)) {
    notes.push_back(text(where, ": ", name, " is PTB, which has all splits: train, valid and test"));
    name = "PTB";
  }
  const auto known = std::ranges::find_if(kSets, [&](const char* set) { return lower(set) == lower(name); });
  if (known != std::end(kSets)) {
    name = *known;
    if (name == "CIFAR10") convert_cifar_images(root, options, notes);
    if (name == "BABI") number_task(options, notes);
    if (name == "MNIST") add_fallback(options, where, notes);
    if (name == "PTB" || name == "Shakespeare" || name == "HutterPrize") {
      rename_steps(options, notes);
      leave_out_arguments(options, conversion, notes);
    }
    if (name == "MNIST" || name.starts_with("CIFAR")) leave_out_shuffle(root, options, notes);
    if (const auto folder = take(options, {"path"}); folder && folder->is_scalar()) {
      conversion.options.entries.push_back({"data_dir", *folder, folder->where});
      notes.push_back(text(folder->where, ": path: data sets are looked for in ", folder->value,
                           " if that folder exists, else in neon's own folder"));
    }
  }
  *root.find("dataset") = object(name, std::move(options), where);  // which a key added to root may have moved
}

}  // namespace neon
