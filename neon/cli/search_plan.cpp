#include "neon/cli/search_plan.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "neon/cli/expected_files.h"
#include "neon/cli/objective.h"
#include "neon/cli/options.h"
#include "neon/cli/session.h"
#include "neon/cli/whole_ranges.h"
#include "neon/core/threads.h"
#include "neon/spec/spec.h"
#include "neon/spec/yaml.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

// Whether the range changes the spec; one that --set replaces, say, does not.
bool changes(const SearchRange& range, const std::vector<SearchRange>& all, const CommandLine& line,
             const std::string& path) {
  const bool choice = range.kind == SearchRange::Kind::choice;
  if (choice ? range.options.size() == 1 : range.low == range.high) return true;
  const auto with = [&](const std::string& value) {
    Values values = values_for(range, all);
    values[range.name] = value;
    return load_spec(path, line.overrides, {values}).root.to_string();
  };
  return choice ? with(range.options.front()) != with(range.options.back())
                : with(number(range.low)) != with(number(range.high));
}

std::vector<SearchRange> searched(const Spec& spec, const CommandLine& line, const std::string& path, Values& fixed) {
  std::vector<SearchRange> out;
  for (const SearchRange& range : spec.ranges) {
    if (changes(range, spec.ranges, line, path)) {
      out.push_back(range);
      continue;
    }
    fixed[range.name] = range.middle();
    print_message(text("note: ", range.where, ": range ", range.name,
                       " changes nothing and is not searched; does --set give its key a value?"));
  }
  if (out.empty())
    fail(ErrorKind::config, path,
         ": has no range to search; write one in the place of a value, as in learning_rate: "
         "{search: {log: [1e-4, 1e-1]}}");
  return out;
}

uint64_t seed_of(const CommandLine& line, const Experiment& experiment, const std::string& folder) {
  const RunOptions options = line.run();
  if (options.rng_seed) return uint64_t(*options.rng_seed);
  if (experiment.params.rng_seed) return uint64_t(*experiment.params.rng_seed);
  if (options.deterministic) return uint64_t(kDeterministicSeed);
  if (const auto stored = stored_seed(folder)) return *stored;
  return uint64_t(std::chrono::system_clock::now().time_since_epoch().count()) & 0x7fffffff;
}

// Checks what all trials share. On GPUs each trial has one of its own.
void settle_devices(const CommandLine& line, const OpenedSpec& spec, SearchPlan& plan) {
  RunOptions options = options_of(line, spec);
  choose_backend(line, options, *spec.experiment);
  check_objective(spec, options, line.of_verb.metric);
  plan.backend = options.backend;
  plan.first_device = options.device_id;
  plan.at_once = line.ranks;
  if (plan.backend != "gpu") return;
  std::string why_not;
  const auto count = int64_t(gpu_module(why_not)->devices().size());
  if (plan.first_device + plan.at_once > count)
    fail(ErrorKind::config, line.ranks_option, ": each trial takes a GPU of its own, and from GPU ", plan.first_device,
         " on there are ", count - plan.first_device, "; give fewer, or -b cpu");
}

}  // namespace

std::string whole_spec(const CommandLine& line, const std::string& path) {
  check_may_be_spec(path);
  return load_spec(path, line.overrides, {.keep = true}).root.to_string();
}

std::vector<std::string> words_of_options(const CommandLine& line) {
  std::vector<std::string> out;
  for (const auto& entry : line.run_options.entries) {
    if (entry.key == "rng_seed" || entry.key == "backend" || entry.key == "device_id") continue;
    const auto option = std::ranges::find_if(
        all_options(), [&](const Option& one) { return one.holder == Holder::run && one.field == entry.key; });
    const bool is_flag = option == all_options().end();
    if (is_flag && entry.value.value == "true") out.push_back("--" + entry.key);
    if (!is_flag) out.push_back(text(option->flags.substr(option->flags.find("--")), "=", entry.value.value));
  }
  for (const Override& given : line.overrides) out.insert(out.end(), {"--set", given.assignment});
  return out;
}

SearchPlan plan_search(const CommandLine& line) {
  const std::string& path = only_operand(line);
  if (!can_run_again(line))
    fail(ErrorKind::config,
         "each trial reads the spec and the file of options, and one of them is a pipe; write it to "
         "a file");
  if (!line.values.empty())
    fail(ErrorKind::config,
         "option --value: a search chooses the values; --set gives a key a value in all trials, and "
         "--objective trains one trial");
  check_may_be_spec(path);
  const Spec spec = load_spec(path, line.overrides);
  check_whole_ranges(path, line.overrides, {}, spec.ranges, spec.ranges);
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const OpenedSpec opened{
      std::make_unique<Experiment>(spec.root), parent.empty() ? "." : parent.string(), spec.conversion.options, {}};
  const std::string stem = std::filesystem::path(path).stem();
  const std::string folder = line.of_verb.folder.empty() ? stem + "-search" : line.of_verb.folder;
  const uint64_t seed = seed_of(line, *opened.experiment, folder);
  Values fixed;
  SearchPlan out{path, folder, Space(searched(spec, line, path, fixed)), {}, seed, "", 0, 1, {}};
  out.fixed = fixed;
  settle_devices(line, opened, out);
  std::vector<std::string> names;
  for (const SearchRange& range : out.space.ranges()) names.push_back(range.name);
  out.settings = {{"spec", whole_spec(line, path)},
                  {"ranges", names},
                  {"options", words_of_options(line)},
                  {"method", line.of_verb.method},
                  {"metric", line.of_verb.metric},
                  {"prune", line.of_verb.prune},
                  {"seed", seed}};
  return out;
}

void check_unchanged(const CommandLine& line, const std::string& path, const std::string& before,
                     const std::string& mend) {
  if (whole_spec(line, path) != before)
    fail(ErrorKind::config, path, " has changed since ", "neon ", line.verb, " began, and each run reads it; ", mend);
}

std::vector<std::string> words_of_trial(const CommandLine& line, const SearchPlan& plan, const Trial& trial,
                                        int64_t slot, bool with_curve) {
  std::vector<std::string> out = {"search", "--objective"};
  if (with_curve) out.push_back("--curve");
  if (!line.of_verb.metric.empty()) out.push_back("--metric=" + line.of_verb.metric);
  for (const Values* values : {&plan.fixed, &trial.values})
    for (const auto& [name, value] : *values) out.insert(out.end(), {"--value", text(name, "=", value)});
  const std::vector<std::string> options = words_of_options(line);
  out.insert(out.end(), options.begin(), options.end());
  out.insert(out.end(), {"-r", text(trial.seed), "-b", plan.backend});
  if (plan.backend == "gpu") out.insert(out.end(), {"-i", text(plan.first_device + slot)});
  out.insert(out.end(), {"--", plan.path});
  return out;
}

std::vector<std::string> settings_of_trial(const SearchPlan& plan) {
  if (plan.at_once == 1 || std::getenv("OMP_NUM_THREADS")) return {};
  return {text("OMP_NUM_THREADS=", std::max<int64_t>(1, available_threads() / plan.at_once))};
}

}  // namespace neon
