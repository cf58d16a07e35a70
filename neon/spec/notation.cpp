#include "neon/spec/notation.h"

#include <algorithm>
#include <iterator>

#include "neon/core/edit_distance.h"
#include "neon/core/text.h"
#include "neon/spec/older_data.h"
#include "neon/spec/older_keys.h"
#include "neon/spec/yaml_1_1.h"

namespace neon {

namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }

// Only `type` and `config`, which is how >= 1.2 wrote an object.
bool has_only_type_and_config(const Setting& map) {
  return std::ranges::all_of(map.entries, [](const auto& e) { return e.key == "type" || e.key == "config"; });
}

bool is_object_form(const Setting& map, bool object_expected) {
  const Setting* type = map.find("type");
  if (!type) return false;
  if (object_expected) return true;
  if (!type->is_scalar() || type->value.empty()) return false;
  return is_class_name(type->value) || (map.find("config") && has_only_type_and_config(map));
}

// {type: Name, ...} to {Name: {...}}; its parameters are not looked into.
void convert_object(Setting& map, Problems& problems) {
  const Setting* type = map.find("type");
  if (!type->is_scalar() || type->value.empty()) {
    problems.add(map, text("'type' must be the name of a class, found ", type->describe()));
    return;
  }
  std::string name = type->value;
  if (name.starts_with("neon.")) name = last_part(name);  // "neon.layers.layer.Affine"
  const Location name_where = type->where;
  Setting params = Setting::map({}, map.where);
  if (Setting* config = map.find("config")) {
    for (const auto& entry : map.entries)
      if (entry.key != "type" && entry.key != "config")
        problems.add(entry.where, map.path, text("'", entry.key, "' stands beside 'config'; put it into 'config'"));
    if (config->is_map()) params = std::move(*config);
    else if (!config->is_null())
      problems.add(*config, text("expected a map of parameters, found ", config->describe()));
  } else {
    for (auto& entry : map.entries)
      if (entry.key != "type") params.entries.push_back(std::move(entry));
  }
  const Location where = map.where;
  if (params.entries.empty()) map = Setting::scalar(std::move(name), where);
  else map = Setting::map({{std::move(name), std::move(params), name_where}}, where);
}

// The keys a 1.x file may have: those it knew, and ours, so that a file can be moved over piece by piece.
const std::vector<std::string> kKnownKeys = {
    "dataset",      "augment",   "normalize", "layers",   "cost",        "outputs",       "class_weights",
    "rule",         "optimizer", "freeze",    "phases",   "metrics",     "train_metrics", "callbacks",
    "batch_size",   "epochs",    "shuffle",   "sampling", "buckets",     "accumulate",    "ema",
    "reset_period", "parallel",  "backend",   "datatype", "fixed_point", "rng_seed",      "predictions"};

// Options of a run, which a file of 1.x could not have.
constexpr std::string_view kOptions[] = {"save_path", "serialize", "model_file",     "output_file", "eval_freq",
                                         "history",   "log",       "data_dir",       "device_id",   "max_devices",
                                         "rounding",  "verbose",   "no_progress_bar"};

// Keys long enough that a similar word is a misspelling.
std::vector<std::string> longer_keys() {
  constexpr size_t kLeast = 5;
  std::vector<std::string> out;
  std::ranges::copy_if(kKnownKeys, std::back_inserter(out), [](const auto& key) { return key.size() >= kLeast; });
  return out;
}

// A key of neon 1.x that the file lacks and that this one misspells: "; did you mean epochs?", or "". The root has
// `batch_size` for `batchsize`.
std::string misspelt_key(const Setting& root, const std::string& given) {
  for (const std::string key : {"backend", "epochs", "batchsize", "layers", "optimizer", "dataset"})
    if (is_slip_of(given, key) && !root.find(key == "batchsize" ? "batch_size" : key))
      return text("; did you mean ", key, "?");
  return "";
}

void remove_holders(Document& document, Conversion& conversion, std::vector<std::string>& notes, Problems& problems) {
  const Setting root = document.root;
  std::erase_if(document.root.entries, [&](const Setting::Entry& entry) {
    if (entry.key == "batchsize" || std::ranges::count(kKnownKeys, entry.key)) return false;
    const std::string place = text(entry.where, ": ", in_quotes(entry.key), ' ');
    const bool holds = std::ranges::count(document.anchored_keys, entry.key) > 0;
    if (const std::string meant = misspelt_key(root, entry.key); holds && !meant.empty()) {
      problems.add(entry.where, "", text("unknown key ", in_quotes(entry.key), meant));
      return true;
    }
    if (holds) {
      notes.push_back(place + "only holds anchors");
      return true;
    }
    const bool option = std::ranges::count(kOptions, entry.key) > 0;
    const std::string near = option ? "" : did_you_mean(entry.key, longer_keys());
    if (near.empty()) {  // neon 1.x ignored it, and somebody may have meant something
      const std::string said =
          text("is no key of neon 1.x and is left out", option ? "; it is an option of the run: --" + entry.key : "");
      notes.push_back(place + said);
      conversion.warnings.push_back({entry.where, text(in_quotes(entry.key), ' ', said)});
    } else problems.add(entry.where, "", text("unknown key ", in_quotes(entry.key), near));
    return true;
  });
}

void convert_1x_root(Document& document, Conversion& conversion, std::vector<std::string>& notes, Problems& problems) {
  Setting& root = document.root;
  for (const std::string& line : document.doubled_keys.lines()) notes.push_back(line + "; the last counts");
  const Setting* ours = root.find("batch_size");
  for (auto& entry : root.entries) {
    if (entry.key != "batchsize") continue;
    if (ours) problems.add(entry.where, "", text("'batchsize' and 'batch_size' are both given"));
    else entry.key = "batch_size";
  }
  remove_holders(document, conversion, notes, problems);
  convert_numbers(root, notes);
  if (!root.find("epochs")) {
    root.entries.push_back({"epochs", Setting::scalar("1", root.where), root.where});
    notes.push_back(text(root.where, ": 'epochs' is missing, so the run has one epoch, as in neon 1.x"));
  }
}

}  // namespace

std::string_view last_part(std::string_view dotted) {
  const size_t dot = dotted.rfind('.');
  return dot == dotted.npos ? dotted : dotted.substr(dot + 1);
}

bool is_class_name(std::string_view text) {
  const std::string_view name = last_part(text);
  if (name.empty() || !is_upper(name[0])) return false;
  return is_letter(text[0]) &&
         std::ranges::all_of(text, [](char c) { return is_letter(c) || c == '.' || (c >= '0' && c <= '9'); });
}

bool is_object(const Setting& setting) {
  return setting.is_map() && setting.entries.size() == 1 && is_class_name(setting.entries[0].key);
}

std::string_view class_of(const Setting& setting) {
  if (is_object(setting)) return setting.entries[0].key;
  return setting.is_scalar() && !setting.quoted && is_class_name(setting.value) ? std::string_view(setting.value) : "";
}

std::string notation_of(const Setting& root) {
  const Setting* layers = root.find("layers");
  if (!layers) return "native";
  bool typed = false, nested = false, inlined = false;
  auto look = [&](const Setting& object) {
    if (!object.is_map() || !object.find("type")) return false;
    (object.find("config") ? nested : inlined) |= object.entries.size() > 1;
    return true;
  };
  for (const Setting& layer : layers->items) typed |= look(layer);
  if (!typed) return "native";
  if (const Setting* optimizer = root.find("optimizer")) look(*optimizer);
  return inlined && !nested ? "1.0" : "1.2";
}

void convert_objects(Setting& setting, bool object_expected, Problems& problems) {
  if (setting.is_map() && is_object_form(setting, object_expected)) convert_object(setting, problems);
  for (Setting& item : setting.items) convert_objects(item, object_expected, problems);
  for (auto& entry : setting.entries) {
    // Lists of layers within a layer: of a container, a branch, a repeat.
    const bool container =
        entry.value.is_list() && (entry.key == "layers" || entry.key == "layer_container" || entry.key == "sublayers");
    convert_objects(entry.value, container, problems);
  }
}

void convert_root(Document& document, const std::string& notation, Conversion& conversion,
                  std::vector<std::string>& notes, Problems& problems) {
  Setting& root = document.root;
  std::erase_if(root.entries, [](const auto& entry) { return entry.key == "define"; });
  if (notation == "native") document.doubled_keys.throw_if_any();
  else convert_1x_root(document, conversion, notes, problems);
  for (auto& entry : root.entries)
    convert_objects(entry.value, entry.key == "layers" || entry.key == "cost" || entry.key == "optimizer", problems);
  root.set_paths("");
}

void convert_keys(Setting& root, const std::string& notation, Conversion& conversion, std::vector<std::string>& notes,
                  Problems& problems) {
  if (notation != "native") {
    convert_older_dataset(root, conversion, notes, problems);
    convert_older_keys(root, notation, conversion, notes);
    root.set_paths("");
  }
  check_oldest_keys(root, problems);
}

}  // namespace neon
