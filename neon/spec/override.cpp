#include "neon/spec/override.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

#include "neon/core/counted.h"
#include "neon/core/message.h"
#include "neon/core/registry.h"
#include "neon/spec/default_name.h"
#include "neon/spec/document.h"
#include "neon/spec/notation.h"
#include "neon/spec/search_range.h"
#include "neon/spec/source.h"
#include "neon/spec/unset_keys.h"

namespace neon {

namespace {

struct Step {
  std::string key;  // empty for an index
  size_t index = 0;
  std::string shown;  // "[2]" or "nout"
};

// Thrown and caught within this file.
struct Refusal {
  std::string message;
};

template <typename... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  throw Refusal{text(parts...)};
}

std::string_view trimmed(std::string_view s) {
  const size_t first = s.find_first_not_of(" \t");
  return first == s.npos ? "" : s.substr(first, s.find_last_not_of(" \t") - first + 1);
}

// The path and, in `rest`, what follows it from '=' on.
class PathReader {
 public:
  explicit PathReader(std::string_view assignment) : text_(assignment) {}

  std::vector<Step> read() {
    std::vector<Step> out;
    out.push_back(key());
    while (at_ < text_.size() && text_[at_] != '=') {
      if (text_[at_] == '[') {
        out.push_back(index());
      } else if (text_[at_] == '.') {
        ++at_;
        out.push_back(key());
      } else {
        refuse("expected '.', '[' or '=' after '", text_.substr(0, at_), "'");
      }
    }
    if (at_ == text_.size()) refuse("no '='; expected PATH=VALUE");
    return out;
  }

  std::string_view value() const { return trimmed(text_.substr(at_ + 1)); }

 private:
  Step key() {
    const bool quoted = at_ < text_.size() && text_[at_] == '"';
    const size_t start = at_ + quoted;
    const size_t end = std::min(text_.find_first_of(quoted ? "\"" : ".[]=", start), text_.size());
    if (quoted && end == text_.size()) refuse("a \" in the path is not closed");
    const std::string_view name = quoted ? text_.substr(start, end - start) : trimmed(text_.substr(start, end - start));
    if (name.empty())
      refuse("a key is missing ", start == 0 ? "before" : "after", " '", text_.substr(0, std::max<size_t>(start, 1)),
             "'");
    at_ = end + quoted;
    return {std::string(name), 0, std::string(name)};
  }

  Step index() {
    const size_t end = text_.find(']', at_);
    if (end == text_.npos) refuse("a [ in the path is not closed");
    const std::string_view digits = trimmed(text_.substr(at_ + 1, end - at_ - 1));
    Step out;
    const auto [last, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out.index);
    if (error != std::errc() || last != digits.data() + digits.size())
      refuse("'", digits, "' is no index; write a number from 0 in brackets, or a name after a dot (layers.NAME)");
    out.shown = text("[", out.index, "]");
    at_ = end + 1;
    return out;
  }

  std::string_view text_;
  size_t at_ = 0;
};

std::string_view name_of(const Setting& object) {
  if (!is_object(object)) return "";
  const Setting* name = object.entries[0].value.find("name");
  return name && name->is_scalar() ? std::string_view(name->value) : "";
}

struct Named {
  std::string_view name;
  Setting* item;
};

// Every named object under it, nested ones too.
void collect_named(Setting& setting, std::vector<Named>& out) {
  if (const auto name = name_of(setting); !name.empty()) out.push_back({name, &setting});
  for (Setting& item : setting.items) collect_named(item, out);
  for (auto& entry : setting.entries) collect_named(entry.value, out);
}

// A phase of that name; their layers may have others.
Setting* phase_called(Setting& phases, const std::string& key) {
  for (Setting& phase : phases.items)
    if (const Setting* const name = phase.is_map() ? phase.find("name") : nullptr; name && name->value == key)
      return &phase;
  return nullptr;
}

Setting& item_called(Setting& list, const std::string& key) {
  if (list.path == "phases")
    if (Setting* const found = phase_called(list, key)) return *found;
  std::vector<Named> named, classes;
  collect_named(list, named);
  for (Setting& item : list.items)
    if (const auto of = class_of(item); !of.empty()) classes.push_back({of, &item});
  for (const auto* candidates : {&named, &classes}) {
    std::vector<std::string> places;
    Setting* found = nullptr;
    for (const Named& candidate : *candidates)
      if (candidate.name == key) places.push_back((found = candidate.item)->path);
    if (places.size() > 1) refuse("'", key, "' could be ", list_text(places, " or "), "; give the index");
    if (found) return *found;
  }
  if (list.path == "layers")
    if (Setting* found = layer_by_default_name(list, key)) return *found;
  std::vector<std::string> all;
  for (const Named& one : named) all.emplace_back(one.name);
  for (const Named& one : classes) all.emplace_back(one.name);
  refuse("nothing in ", list.path, " is named '", key, "'", did_you_mean(key, all),
         key.find_first_not_of("0123456789") == key.npos ? text("; an index is written [", key, "]") : "");
}

std::string shown_path(const Setting& at) { return at.path.empty() ? "the top level" : at.path; }

// Whether it is an output of several, outputs.NAME.
bool is_output(const Setting& at) {
  constexpr std::string_view kOutputs = "outputs.";
  return at.path.starts_with(kOutputs) && at.path.find('.', kOutputs.size()) == at.path.npos;
}

// Whether it is one in its short form: a cost alone.
bool is_short_output(const Setting& at) { return is_output(at) && !class_of(at).empty(); }

// Keys of an output beside those of its cost (neon/train/net_outputs.h).
bool is_key_of_output(std::string_view key) {
  constexpr std::string_view kKeys[] = {"cost", "layer", "weight", "class_weights", "metrics"};
  return std::ranges::find(kKeys, key) != std::end(kKeys);
}

// The parameters of an object, made if it has none; the setting itself when it is no object.
Setting& parameters(Setting& at, const std::string& key) {
  if (is_short_output(at) && is_key_of_output(key)) {
    Setting output = Setting::map({{"cost", at, at.where}}, at.where);
    output.set_paths(at.path);
    at = std::move(output);
    return at;
  }
  if (at.is_null()) {
    at.kind = Setting::Kind::map;
    return at;
  }
  if (at.is_scalar()) {
    if (class_of(at).empty()) refuse(shown_path(at), " is ", at.describe(), ", which has no key '", key, "'");
    const bool is_class = at.value == key;  // dataset.Iris, too, where the file has dataset: Iris
    Setting object = Setting::map({{at.value, Setting::map({}, at.where), at.where}}, at.where);
    object.set_paths(at.path);
    at = std::move(object);
    return is_class ? at : at.entries[0].value;
  }
  if (!at.is_map() || at.path.empty() || !is_object(at) || at.find(key)) return at;
  Setting& inner = at.entries[0].value;
  if (inner.is_null()) inner.kind = Setting::Kind::map;
  if (inner.is_scalar())
    refuse(at.path, " is written ", at.entries[0].key, ": ", inner.value, "; to give it '", key,
           "' too, set the whole of it: ", at.path, "={", at.entries[0].key, ": {...}}");
  return inner;
}

// The optimizers of a MultiOptimizer stand for themselves or, as in neon 1.x, under a key of their own: either way they
// go by their names.
Setting* mapping_of(Setting& params) {
  for (const char* key : {"mapping", "optimizer_mapping"})
    if (Setting* found = params.find(key); found && found->is_map()) return found;
  return nullptr;
}

// A place of its own for each option, so that values of two options differ.
Location from_option(const std::string& name) { return {std::make_shared<const std::string>(name), 0, 0}; }

// "--set", behind the file of options that gives it.
std::string name_of_option(const Override& given) { return given.where.empty() ? "--set" : given.where + ": --set"; }

// Whether a layer of the spec goes by that name.
bool is_layer(Setting& root, const std::string& key) {
  Setting* const layers = root.path.empty() && root.is_map() ? root.find("layers") : nullptr;
  if (!layers || !layers->is_list()) return false;
  std::vector<Named> named;
  collect_named(*layers, named);
  return std::ranges::count(named, key, &Named::name) > 0 || layer_by_default_name(*layers, key);
}

// Whether a key that the spec leaves out may get parameters all the same, which then are all that it has: a key of the
// top level whose value is plain parameters, or such a parameter of an object.
bool may_be_added(const Setting& at, const Setting& inside, const std::string& key) {
  constexpr std::string_view kOfTopLevel[] = {"class_weights", "normalize", "parallel"};
  if (inside.path.empty()) return std::ranges::count(kOfTopLevel, key) > 0;
  if (is_output(inside)) return key == "class_weights";
  const Field* const parameter = parameter_of_class(class_of(at), key);
  if (parameter && takes_objects(*parameter))
    refuse(shown_path(inside), " has no '", key, "' yet; give its class first, as in --set ", at.path, ".", key,
           "={NAME: {...}} (neon help ", parameter->type, " lists the names)");
  return parameter != nullptr;
}

Setting& child(Setting& at, const Step& step, bool is_last, const std::string& option) {
  if (step.key.empty()) {
    Setting& list = is_object(at) && !at.path.empty() ? at.entries[0].value : at;
    if (!list.is_list()) refuse(shown_path(at), " is ", at.describe(), ", not a list, so it has no ", step.shown);
    if (step.index < list.items.size()) return list.items[step.index];
    refuse(list.path, " has ", counted(int64_t(list.items.size()), "item"),
           ", counted from 0 as the file has them: there is no ", step.shown);
  }
  Setting& inside = at.is_list() ? at : parameters(at, step.key);
  if (inside.is_list()) return item_called(inside, step.key);
  if (Setting* found = inside.find(step.key)) return *found;
  if (step.key == "config" && &inside != &at) return inside;
  std::vector<std::string> keys = inside.keys(), near = parameters_of_class(class_of(at));
  if (Setting* mapping = mapping_of(inside)) {
    if (Setting* found = mapping->find(step.key)) return *found;
    std::ranges::copy(mapping->keys(), std::back_inserter(keys));
  }
  std::ranges::copy(keys, std::back_inserter(near));
  if (!is_last && (option.empty() || !may_be_added(at, inside, step.key)))
    refuse("there is no '", step.key, "' in ", shown_path(inside),
           is_layer(at, step.key) ? text("; did you mean layers.", step.key) : did_you_mean(step.key, near),
           keys.empty() ? "" : text(" (keys: ", list_text(keys), ")"));
  inside.entries.push_back({step.key, {}, from_option(option)});
  inside.entries.back().value.path = inside.path.empty() ? step.key : text(inside.path, ".", step.key);
  return inside.entries.back().value;
}

// As in neon 1.x an object's class is its `type`, and changes without its parameters.
bool change_class(Setting& object, const Setting& value) {
  if (class_of(object).empty() || !value.is_scalar() || !is_class_name(value.value)) return false;
  if (object.is_scalar()) object.value = value.value, object.where = value.where;
  else object.entries[0].key = value.value, object.entries[0].where = object.where = value.where;
  object.set_paths(object.path);
  return true;
}

void place(Setting& setting, const Location& where) {
  setting.where = where;
  for (Setting& item : setting.items) place(item, where);
  for (auto& entry : setting.entries) {
    entry.where = where;
    place(entry.value, where);
  }
}

Setting value_of(std::string_view written, bool object_expected, const std::string& option) {
  if (written.empty()) refuse("no value after '='; write null or '' for none");
  Problems problems;
  Setting out = read_yaml_text(written, "value");
  convert_objects(out, object_expected, problems);
  problems.throw_if_any();
  if (has_range(out)) refuse("a range of a search stands in the spec itself; --set gives a value");
  place(out, from_option(option));
  return out;
}

// The first value in a setting that an option gave, and not the setting's own; null without one.
const Setting* first_given(const Setting& setting, const Location& own) {
  if (setting.where.is_option() && setting.where.file != own.file) return &setting;
  for (const Setting& item : setting.items)
    if (const Setting* const found = first_given(item, own)) return found;
  for (const auto& entry : setting.entries)
    if (const Setting* const found = first_given(entry.value, own)) return found;
  return nullptr;
}

// Throws where the value would replace one that another option gave. A file of options counts before the command line.
void check_replaces_none(const Setting& at, const Override& given) {
  const Setting* const lost = first_given(at, at.where);
  if (!lost) return;
  const std::string giver = lost->where.to_string();
  const bool of_file = giver != name_of_option({"", ""});
  const std::string by = of_file ? "which " + giver + " gives" : "which another --set before it gives";
  if (!of_file || !given.where.empty()) refuse("it replaces ", lost->path, ", ", by, "; put this one first");
  refuse("it replaces ", lost->path, ", ", by,
         ", and the lines of the file come before the command line; put this one ",
         "into the file, above that line, or take that line out");
}

void apply(Setting& root, const Override& given) {
  const std::string_view assignment = trimmed(given.assignment);
  const std::string option = name_of_option(given);
  const Source checked(assignment, "text", YamlLimits().bytes);  // keys, too, must be text
  PathReader reader(assignment);
  const std::vector<Step> steps = reader.read();
  if (steps[0].key == "define") refuse("aliases already copied the values of 'define'; set them where they are used");
  const bool object = steps.size() == 1 && (steps[0].key == "cost" || steps[0].key == "optimizer");
  Setting value = value_of(reader.value(), object || steps[0].key == "layers", option);
  Setting changed = root;
  Setting* at = &changed;
  for (size_t i = 0; i + 1 < steps.size(); ++i) at = &child(*at, steps[i], false, option);
  if (steps.size() == 1 || steps.back().key != "type" || !change_class(*at, value)) {
    at = &child(*at, steps.back(), true, option);
    check_replaces_none(*at, given);
    value.set_paths(at->path);
    *at = std::move(value);
  }
  root = std::move(changed);
}

}  // namespace

namespace {

// Whether a lone value behind the name of an object, as in Dropout: 0.5, is the value of that parameter.
bool is_first_parameter(std::string_view object, const std::string& key) {
  for (const Category& category : categories())
    for (const EntryInfo* const entry : category.entries) {
      if (entry->name != object && std::ranges::count(entry->aliases, object) == 0) continue;
      const Schema& schema = entry->schema();
      if (!schema.fields.empty() && schema.find(key) == &schema.fields[0]) return true;
    }
  return false;
}

// The value that a key leads to without a step into the tree: the class of an object, or its lone value. Else null.
Setting* value_behind_class(Setting& at, const std::string& key) {
  if (key.empty() || at.path.empty() || !at.is_map() || !is_object(at)) return nullptr;
  Setting& value = at.entries[0].value;
  const bool lone = !value.is_map() && !value.is_null() && is_first_parameter(at.entries[0].key, key);
  return lone || at.entries[0].key == key ? &value : nullptr;
}

}  // namespace

std::optional<Setting> setting_at(Setting root, std::string_view path, std::string& why_not) try {
  const std::string assignment = text(trimmed(path), "=");
  PathReader reader(assignment);
  Setting* at = &root;
  for (const Step& step : reader.read()) {
    Setting* const behind = value_behind_class(*at, step.key);
    at = behind ? behind : &child(*at, step, false, "");
  }
  return *at;
} catch (const Refusal& refusal) {
  why_not = refusal.message;
  return {};
}

TopLevelOverride top_level_override(std::string_view assignment) try {
  PathReader reader(trimmed(assignment));
  const std::vector<Step> steps = reader.read();
  return steps.size() == 1 ? TopLevelOverride{steps[0].key, std::string(reader.value())} : TopLevelOverride{};
} catch (const Refusal&) {
  return {};  // told where it is applied
}

void apply_override(Setting& root, const Override& given, Problems& problems) {
  const std::string& assignment = given.assignment;
  std::string prefix = text(name_of_option(given), " ",
                            assignment.size() > 80 ? text(assignment.substr(0, 77), "...") : assignment, ": ");
  std::ranges::replace(prefix, '\n', ' ');
  try {
    apply(root, given);
  } catch (const Refusal& refusal) {
    problems.add({}, "", prefix + refusal.message);
  } catch (const Error& error) {
    problems.add({}, "", prefix + error.what());
  }
}

}  // namespace neon
