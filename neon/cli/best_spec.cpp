#include "neon/cli/best_spec.h"

#include <algorithm>
#include <filesystem>

#include "neon/cli/data_paths.h"
#include "neon/cli/options.h"
#include "neon/spec/spec.h"
#include "neon/spec/yaml.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

// The name of a spec's key for an option; "" where options alone give it.
std::string key_of(const std::string& option) {
  const Field* const field = schema_of<ExperimentParams>().find(option);
  return field ? field->name : "";
}

// The spec may write the key by its alias.
void set_key(Setting& root, const std::string& key, const std::string& value) {
  for (auto& entry : root.entries)
    if (key_of(entry.key) == key) {
      entry.value = Setting::scalar(value);
      return;
    }
  root.entries.push_back({key, Setting::scalar(value), {}});
}

std::string shell_text(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += " " + shell_word(word);
  return printable(out);
}

}  // namespace

void write_best_spec(const std::string& file, const CommandLine& line, const SearchPlan& plan, const Trial& trial,
                     const std::string& outcome) {
  Values values = plan.fixed;
  values.insert(trial.values.begin(), trial.values.end());
  Spec spec = load_spec(plan.path, line.overrides, {values});
  // As a run looks for data: in its own folder, then in the spec's.
  const std::filesystem::path folder = std::filesystem::path(plan.path).parent_path();
  const std::vector<std::filesystem::path> folders = {".", folder.empty() ? "." : folder};
  name_data_from_root(spec.root, folders);

  CommandLine others = line;  // with the options alone that no key of a spec gives
  others.overrides.clear();
  for (const auto& entry : line.run_options.entries)
    // The epochs of phases are each phase's own; -e ends the last.
    if (const std::string key = key_of(entry.key);
        !key.empty() && key != "backend" && !(key == "epochs" && spec.root.find("phases"))) {
      set_key(spec.root, key, entry.value.value);
      std::erase_if(others.run_options.entries, [&](const auto& one) { return one.key == entry.key; });
    }
  set_key(spec.root, "rng_seed", text(trial.seed));
  // A file of neon 0.9 names options, too; trials write no files.
  for (const auto& entry : spec.conversion.options.entries)
    if (entry.key != "save_path" && entry.key != "output_file" && entry.key != "log_file" &&
        !line.run_options.find(entry.key))
      others.run_options.entries.push_back(entry);

  std::vector<std::string> command;
  for (const auto& [name, value] : values) command.insert(command.end(), {"--value", text(name, "=", value)});
  for (const std::string& word : words_of_options(line)) command.push_back(word);
  std::string head = text("# Trial ", trial.number, ", the best: ", printable(outcome), "\n# The same: neon ",
                          printable(shell_word(plan.path)), shell_text(command), " -r ", trial.seed, "\n");
  if (const auto words = words_of_options(others); !words.empty())
    head += text("# Give this spec the options", shell_text(words), ", as the search had them.\n");
  write_whole(file, head + write_yaml(spec.root));
}

}  // namespace neon
