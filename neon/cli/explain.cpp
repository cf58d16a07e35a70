#include "neon/cli/explain.h"

#include <algorithm>
#include <optional>

#include "neon/cli/session.h"
#include "neon/core/error.h"
#include "neon/core/paths.h"
#include "neon/core/registry.h"
#include "neon/spec/notation.h"
#include "neon/spec/override.h"
#include "neon/spec/spec.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

bool is_leaf(const Setting& setting) {
  if (setting.is_map()) return setting.entries.empty();
  return !setting.is_list() || std::ranges::none_of(setting.items, [](const Setting& item) { return !is_leaf(item); });
}

// The paths of all values; the class of an object does not stand in them.
void collect_keys(const Setting& setting, const std::string& path, std::vector<std::string>& out) {
  if (!path.empty() && is_object(setting) && setting.is_map()) return collect_keys(setting.entries[0].value, path, out);
  if (is_leaf(setting)) {
    if (!path.empty()) out.push_back(path);
    return;
  }
  for (size_t i = 0; i < setting.items.size(); ++i) collect_keys(setting.items[i], text(path, '[', i, ']'), out);
  for (const auto& entry : setting.entries) {
    const bool plain = entry.key.find_first_of(".[]=\"") == entry.key.npos;
    const std::string key = plain ? entry.key : text('"', entry.key, '"');
    collect_keys(entry.value, path.empty() ? key : text(path, '.', key), out);
  }
}

// All names of the parameter that the last word of a path may mean.
std::vector<std::string> spellings_of(const std::string& path) {
  const size_t dot = path.rfind('.') == path.npos ? 0 : path.rfind('.') + 1;
  const std::string name = path.substr(dot);
  std::vector<std::string> out = {name};
  const auto add = [&](const Schema& schema) {
    const Field* const field = schema.find(name);
    if (!field) return;
    out.push_back(field->name);
    out.insert(out.end(), field->aliases.begin(), field->aliases.end());
  };
  add(schema_of<ExperimentParams>());
  for (const Category& category : categories())
    for (const EntryInfo* const entry : category.entries)
      for (const auto schema : {entry->schema, entry->common})
        if (schema) add(schema());
  std::ranges::sort(out.begin() + 1, out.end());
  out.erase(std::unique(out.begin() + 1, out.end()), out.end());
  for (std::string& each : out) each = path.substr(0, dot) + each;
  return out;
}

class Explainer {
 public:
  Explainer(const CommandLine& line, const OpenedSpec& spec, const RunOptions& options, const std::string& path)
      : line_(line),
        resolved_(spec.experiment->resolved(options)),
        given_(load_spec(path, line.overrides, {values_of(line)}).root),
        file_(load_spec(path, {}, {values_of(line)}).root) {
    if (const Setting* const backend = line.run_options.find("backend"))
      *resolved_.find("backend") = Setting::scalar(backend->value);
    for (Setting* const root : {&resolved_, &given_, &file_}) root->set_paths("");
  }
  std::vector<std::string> keys() const {
    std::vector<std::string> out;
    collect_keys(resolved_, "", out);
    return out;
  }
  std::string explain(const std::string& key) const {
    std::string why_not;
    const std::optional<Setting> value = setting_at(resolved_, key, why_not);
    if (!value) fail(ErrorKind::config, "option --explain: ", why_not, "; --explain keys lists all");
    return text(key, ": ", value->to_string(), "  (", origin(key), ")");
  }

 private:
  std::string origin(const std::string& key) const {
    if (const std::string option = option_for(key); !option.empty()) return option;
    const std::vector<std::string> spellings = spellings_of(key);
    // --set may name a parameter otherwise than the file, and counts.
    const auto find = [&](const Setting& root) {
      std::optional<Setting> out;
      std::string ignored;
      for (const std::string& each : spellings)
        if (auto found = setting_at(root, each, ignored); found && !found->is_null())
          if (!out || found->where.is_option()) out = std::move(found);
      return out;
    };
    const std::optional<Setting> given = find(given_), before = find(file_);
    if (!given) return "default";
    if (!given->where.is_option()) return given->where.to_string();
    const std::string option = given->where.to_string();
    return before ? text(option, ", in place of ", before->to_string(), " at ", before->where.to_string()) : option;
  }
  // The option of the command line, or the file of options, that comes before the spec.
  std::string option_for(const std::string& key) const {
    for (const auto& [name, value, where] : line_.run_options.entries) {
      const Field* const field = schema_of<ExperimentParams>().find(name);
      if (!field || field->name != key) continue;
      // "option -e,--epochs", behind the name of the file of options where it is in one; -i and its like mean a GPU.
      return value.path.empty() ? "an option that names GPUs" : value.path;
    }
    return "";
  }

  const CommandLine& line_;
  Setting resolved_, given_, file_;
};

}  // namespace

int print_explained(const CommandLine& line) {
  const std::string& path = only_operand(line);
  if (is_read_once(path))
    fail(ErrorKind::config, "option --explain: the spec comes by a pipe, and is read more than once; give a file");
  const OpenedSpec spec = open_spec(line, path);
  const Explainer explainer(line, spec, options_of(line, spec), path);
  const std::string& asked = *line.of_verb.explain;
  for (const std::string& key : asked == "all" || asked == "keys" ? explainer.keys() : std::vector{asked})
    print_result(asked == "keys" ? key : explainer.explain(key));
  return 0;
}

}  // namespace neon
