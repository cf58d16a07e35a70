#include "neon/cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <span>

#include "neon/cli/arguments.h"
#include "neon/cli/asked_backend.h"
#include "neon/cli/option_tables.h"
#include "neon/cli/refused_options.h"
#include "neon/core/error.h"
#include "neon/core/paths.h"
#include "neon/core/version.h"

namespace neon {

namespace {

// The home folder's ~ is for us to read where no shell has: in a file of options, in --log=~/log.txt.
void add_option(Setting& to, const std::string& field, const std::string& value, const std::string& option) {
  Setting setting = Setting::scalar(expand_home(value));
  setting.path = option;
  to.entries.push_back({field, std::move(setting), {}});
}

using Options = std::map<std::string, CLI::Option*>;

// Parses a file of options, if one is given, and the command line after it, so that the last value is the one that
// counts. Returns how many of an option's values are the file's.
std::map<std::string, size_t> parse_all(CLI::App& app, const Options& options, const std::vector<std::string>& given,
                                        const CLI::Option& config) {
  std::map<std::string, size_t> of_file;
  parse(app, given);
  const std::vector<std::string> files = config.results();
  if (files.empty()) return of_file;
  if (files.size() > 1)
    fail(ErrorKind::config, "option -c,--config: ", in_quotes(files[0]), " and ", in_quotes(files[1]),
         ", where one file of options is expected; write the lines of both into one");
  if (files[0].empty()) fail(ErrorKind::config, "option -c,--config: its value is empty; give one, or leave it out");
  std::vector<std::string> all;
  for (const ConfigLine& line : config_lines(expand_home(files[0]))) {
    try {
      parse(app, line.arguments);
    } catch (const Error& error) {
      fail(error.kind(), line.where, ": ", error.what());
    }
    all.insert(all.end(), line.arguments.begin(), line.arguments.end());
  }
  parse(app, all);
  for (const auto& [field, option] : options) of_file[field] = option->results().size();
  all.insert(all.end(), given.begin(), given.end());
  parse(app, all);
  return of_file;
}

// All options, and what was given of them.
class Reader {
 public:
  Reader() : app_(kUsage) {
    app_.name("neon");
    add_options(kRunOptions);
    for (const VerbOption& option : kVerbOptions) {
      const bool flag = schema_of<VerbOptions>().find(option.field)->type == "true or false";
      if (flag) options_[option.field] = app_.add_flag(option.flags, values_[option.field], option.help);
      else add_last(option.flags, option.field, option.help);
    }
    add_options(kOldOptions);
    config_option_ = app_.add_option("-c,--config", config_, "file of options, one `name = value` a line")
                         ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    options_["set"] =
        app_.add_option("--set", line_.overrides, "change the spec: --set layers[0].nout=50, or layers.NAME.nout=50")
            ->allow_extra_args(false);
    app_.add_flag("-v,--verbose", verbosity_,
                  "notes on the spec, and what bench's time goes to; -vv: the plan of a step too; -vvv: its kernels");
    app_.add_flag("--no_progress_bar", no_bar_, "no progress lines");
    app_.add_flag("--caffe", caffe_, "Caffe's sizes and dropout");
    app_.add_flag("--deterministic", deterministic_, "only deterministic choices; without -r, seed 0");
    app_.add_flag("--tf32", tf32_, "f32 products on a GPU take operands of 10 bits of mantissa");
    app_.add_flag("--version", show_version_, "print the version");
    app_.add_option("operands", line_.operands, "SPEC, or what the verb takes");
  }

  CommandLine read(std::vector<std::string> arguments, bool& finished, std::string& out) {
    finished = false;
    if (!arguments.empty() && std::ranges::count(verbs(), arguments.front())) {
      line_.verb = arguments.front();
      arguments.erase(arguments.begin());
    }
    name_in_full(arguments);
    const std::vector<std::string> given = clear_arguments(arguments);
    try {
      of_file_ = parse_all(app_, options_, given, *config_option_);
    } catch (const CLI::CallForHelp&) {
      finished = true;
      out = app_.help();
      return line_;
    }
    check_run_together(app_, given);
    // The verb may follow options.
    if (line_.verb == "train" && line_.operands.size() > 1 && std::ranges::count(verbs(), line_.operands.front())) {
      line_.verb = line_.operands.front();
      line_.operands.erase(line_.operands.begin());
    }
    if (show_version_) {
      finished = true;
      out = "neon " + std::string(version()) + "\n";
      return line_;
    }
    take_values();
    take_backend();
    settle_overrides();
    take_flags(arguments);
    return line_;
  }

 private:
  // CLI11 takes the = of -s=FILE for a part of the name.
  void name_in_full(std::vector<std::string>& arguments) const {
    for (std::string& argument : arguments) {
      if (argument == "--") return;
      if (argument.size() < 3 || argument[2] != '=') continue;
      const CLI::Option* const option = app_.get_option_no_throw(argument.substr(0, 2));
      if (option && !option->get_lnames().empty()) argument.replace(0, 2, "--" + option->get_lnames().front());
    }
  }

  void add_last(const char* flags, const char* field, const char* help) {
    options_[field] =
        app_.add_option(flags, values_[field], help)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
  void add_options(std::span<const RunOption> table) {
    for (const RunOption& option : table) add_last(option.flags, option.field, option.help);
  }

  // Where the values of an option are from, for messages: "a.cfg: option -e,--epochs".
  template <typename Option>
  std::string place_of(const Option& option, size_t value) {
    return text(value < of_file_[option.field] ? config_ + ": " : "", "option ", option.flags);
  }

  // Values of an option that a later one replaces must be right all the same.
  template <typename Params, typename Option>
  void check_replaced(const Option& option, Problems& problems) {
    const std::vector<std::string>& given = options_[option.field]->results();
    for (size_t i = 0; i + 1 < given.size(); ++i) {
      Setting one = Setting::map({});
      add_option(one, option.field, given[i], place_of(option, i));
      read_params<Params>(one, problems);
    }
  }

  // Those of a table that were given, as a setting for its parameters.
  template <typename Params, typename Table>
  Setting given_of(const Table& table, Problems& problems) {
    Setting out = Setting::map({});
    for (const auto& option : table) {
      if (!options_[option.field]->count()) continue;
      check_use(option);
      check_replaced<Params>(option, problems);
      const size_t last = options_[option.field]->results().size() - 1;
      add_option(out, option.field, values_[option.field], place_of(option, last));
    }
    return out;
  }
  bool was_typed(const RunOption& option) { return options_[option.field]->results().size() > of_file_[option.field]; }
  bool is_used(const RunOption& option) const {
    const auto verb_is = [&](std::initializer_list<const char*> some) { return std::ranges::count(some, line_.verb); };
    if (verb_is({"doctor", "help"})) return false;
    if (verb_is({"predict"}))
      return std::ranges::count(std::array{"backend", "device_id", "datatype"}, std::string(option.field));
    if (verb_is({"eval", "data"})) return option.needs == Needs::nothing;
    return option.needs != Needs::a_run || !verb_is({"summary", "program", "bench"});
  }
  void check_use(const VerbOption& option) const { check_verb(option, line_); }
  void check_use(const RunOption& option) {
    // A file of options is for every verb.
    if (!is_used(option) && was_typed(option)) does_nothing(option.flags, line_.verb);
    const Field* const of_run = schema_of<RunOptions>().find(option.field);
    if (values_[option.field].empty() && of_run && of_run->type == "text")
      fail(ErrorKind::config, "option ", option.flags, ": its value is empty; give one, or leave the option out");
  }

  void take_values() {
    Problems problems;
    const Setting of_verb = given_of<VerbOptions>(kVerbOptions, problems);
    line_.of_verb = read_params<VerbOptions>(of_verb, problems);
    line_.run_options = given_of<RunOptions>(kRunOptions, problems);
    const Setting of_old = given_of<OldOptions>(kOldOptions, problems);
    const auto old = read_params<OldOptions>(of_old, problems);
    read_params<RunOptions>(line_.run_options, problems);
    problems.throw_if_any();
    if (old.max_devices != 1) fail(ErrorKind::config, "-m ", old.max_devices, ": this build trains on one device");
  }

  // The last value that the file of options gave, or the command line.
  std::string last(const char* field, bool in_file) {
    const std::vector<std::string>& all = options_[field]->results();
    const size_t begin = in_file ? 0 : of_file_[field], end = in_file ? of_file_[field] : all.size();
    return begin < end ? all[end - 1] : "";
  }
  std::string asked(bool in_file) {
    return asked_backend({last("backend", in_file), last("gpu", in_file), last("device_id", in_file)},
                         in_file ? config_ + ": " : "");
  }
  void take_backend() {
    std::string backend = asked(false);
    if (backend.empty()) backend = asked(true);
    if (Setting* said = line_.run_options.find("backend")) *said = Setting::scalar(backend);
    else if (!backend.empty()) add_option(line_.run_options, "backend", backend, "");
  }

  // Of what an option and --set give both, what is typed counts above what the file of options says; where they stand
  // in one place, only the same value is no mistake.
  void settle_overrides() {
    for (size_t i = 0; i < line_.overrides.size(); ++i) {
      const bool typed = i >= of_file_["set"];
      const SetOption set = option_set_by(line_.overrides[i]);
      const Setting* const value = line_.run_options.find(set.field);
      if (!value || value->value == set.value) continue;
      const bool option_typed = check_contradiction(set.field, typed, line_.overrides[i]);
      if (typed && !option_typed) std::erase_if(line_.run_options.entries, [&](auto& e) { return e.key == set.field; });
    }
  }
  // Whether an option that gives the field was typed.
  bool check_contradiction(const std::string& field, bool typed, const std::string& assignment) {
    bool any_typed = false;
    const auto check = [&](const RunOption& option) {
      const std::vector<std::string>& given = options_[option.field]->results();
      const bool asks_backend = option.field == std::string("gpu") || option.field == std::string("device_id");
      if (given.empty() || (option.field != field && !(asks_backend && field == "backend"))) return;
      if (was_typed(option) == typed)
        fail(ErrorKind::config, place_of(option, given.size() - 1), " ", in_quotes(given.back()), " and --set ",
             assignment, " contradict each other; leave one out");
      any_typed = any_typed || was_typed(option);
    };
    std::ranges::for_each(kRunOptions, check);
    std::ranges::for_each(kOldOptions, check);
    return any_typed;
  }

  void take_flags(const std::vector<std::string>& arguments) {
    // Of these a file of options may say no.
    const auto add_flag = [&](const std::string& flag, const char* field, bool value) {
      if (!app_.count(flag)) return;
      const bool typed = std::ranges::any_of(arguments, [&](const auto& a) { return a.starts_with(flag); });
      add_option(line_.run_options, field, value ? "true" : "false", typed ? flag : config_);
    };
    add_flag("--caffe", "caffe", caffe_);
    add_flag("--tf32", "tf32", tf32_);
    if (deterministic_) add_option(line_.run_options, "deterministic", "true", "--deterministic");
    if (no_bar_) add_option(line_.run_options, "progress_bar", "false", "--no_progress_bar");
    line_.verbose = 1 + verbosity_;
  }

  CLI::App app_;
  CommandLine line_;
  Options options_;
  std::map<std::string, std::string> values_;
  std::map<std::string, size_t> of_file_;  // by field: how many of its values the file of options gave
  CLI::Option* config_option_ = nullptr;
  std::string config_;
  bool no_bar_ = false, caffe_ = false, deterministic_ = false, tf32_ = false, show_version_ = false;
  int verbosity_ = 0;
};

}  // namespace

const std::vector<std::string>& verbs() {
  static const std::vector<std::string> all = {"train", "check",   "summary", "program", "bench", "resume",
                                               "eval",  "predict", "data",    "help",    "doctor"};
  return all;
}

CommandLine parse_command_line(std::vector<std::string> arguments, bool& finished, std::string& out) {
  return Reader().read(std::move(arguments), finished, out);
}

}  // namespace neon
