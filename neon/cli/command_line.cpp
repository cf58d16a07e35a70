#include "neon/cli/command_line.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>

#include "neon/cli/arguments.h"
#include "neon/cli/asked_backend.h"
#include "neon/cli/options.h"
#include "neon/cli/refused_options.h"
#include "neon/cli/usage.h"
#include "neon/cli/verb.h"
#include "neon/core/error.h"
#include "neon/core/nearest_file.h"
#include "neon/core/paths.h"
#include "neon/core/version.h"

namespace neon {

namespace {

// The home folder's ~ is for us to read where no shell has: in a file of options, in --log=~/log.txt.
void add_option(Setting& to, const std::string& field, const std::string& value, const std::string& option) {
  Setting setting = Setting::scalar(expand_home(field == "datatype" ? datatype_value(value) : value));
  setting.path = option;
  to.entries.push_back({field, std::move(setting), {}});
}

std::string version_line() { return text("neon ", version(), "\n"); }

// Whether its value is a text. One to go on with may begin with nothing.
bool takes_text(const Option& option) {
  const std::string_view field = option.field;
  if (option.holder == Holder::line) return field == "set" || field == "value";
  const Schema& schema = option.holder == Holder::run    ? schema_of<RunOptions>()
                         : option.holder == Holder::verb ? schema_of<VerbOptions>()
                                                         : schema_of<DeviceRequest>();
  const Field* const found = schema.find(option.field);
  return found && found->type == "text" && field != "prompt";
}

[[noreturn]] void fail_empty(std::string_view option) {
  fail(ErrorKind::config, "option ", option, ": its value is empty; give one, or leave the option out");
}

// Numbers refuse an empty text themselves.
void refuse_empty(const Option& option, const std::vector<std::string>& values) {
  if (takes_text(option) && std::ranges::count(values, "")) fail_empty(option.flags);
}

// CLI11 takes the argument behind --name= for the value, which is empty.
std::vector<std::string> with_empty_values(const CLI::App& app, const std::vector<std::string>& arguments) {
  std::vector<std::string> out;
  bool plain = false;  // operands alone follow
  for (const std::string& argument : arguments) {
    plain = plain || argument == "--";
    const bool empty = !plain && argument.starts_with("--") && argument.find('=') + 1 == argument.size();
    const std::string name = argument.substr(0, argument.size() - empty);
    const CLI::Option* const option = empty ? app.get_option_no_throw(name) : nullptr;
    if (option && option->get_items_expected_max() == 0) fail_empty(name);  // a flag
    if (option) out.insert(out.end(), {name, ""});
    else out.push_back(argument);
  }
  return out;
}

using Options = std::map<std::string, CLI::Option*>;

// The values of an option in the order given.
const std::vector<std::string>& results_of(const Options& options, const std::string& field) {
  static const std::vector<std::string> none;
  const auto found = options.find(field);
  return found == options.end() ? none : found->second->results();
}

// Parses a file of options, if one is given, and the command line after it, so that the last value is the one that
// counts. Returns how many of an option's values are the file's.
std::map<std::string, size_t> parse_all(CLI::App& app, const Options& options, const std::vector<std::string>& given,
                                        const CLI::Option* config, const CommandLine& line) {
  std::map<std::string, size_t> of_file;
  parse(app, given);
  const std::vector<std::string> files = config ? config->results() : std::vector<std::string>();
  if (files.empty()) return of_file;
  if (files.size() > 1)
    fail(ErrorKind::config, "option -c,--config: ", in_quotes(files[0]), " and ", in_quotes(files[1]),
         " are two files of options; put the lines of both into one");
  if (files[0].empty()) fail_empty("-c,--config");
  refuse_spec_as_options(files[0], line);
  std::vector<std::string> all;
  for (const ConfigLine& each : config_lines(expand_home(files[0]))) {
    try {
      parse(app, each.arguments);
    } catch (const Error& error) {
      fail(error.kind(), each.where, ": ", error.what());
    }
    all.insert(all.end(), each.arguments.begin(), each.arguments.end());
  }
  parse(app, all);
  for (const auto& [field, option] : options) of_file[field] = option->results().size();
  all.insert(all.end(), given.begin(), given.end());
  parse(app, all);
  return of_file;
}

// All options, and the values that were given. CLI11 has none of the options, which take it a millisecond, where no
// argument looks like one.
class Reader {
 public:
  explicit Reader(const std::vector<std::string>& arguments)
      : any_(std::ranges::any_of(arguments, [](const std::string& a) { return a.starts_with('-'); })) {
    for (const Option& option : all_options()) {
      if (!any_) break;
      if (option.field == std::string_view("help")) continue;  // CLI11's own
      if (option.holder == Holder::line) add_own(option);
      else if (option.is_flag()) options_[option.field] = app_.add_flag(name(option), values_[option.field]);
      else options_[option.field] = take_last(app_.add_option(name(option), values_[option.field]));
    }
    app_.add_option("operands", line_.operands);
  }

  CommandLine read(std::vector<std::string> arguments, bool& finished, std::string& out) {
    finished = false;
    take_first_word(arguments);
    name_in_full(arguments);
    const std::vector<std::string> given = with_empty_values(app_, clear_arguments(arguments));
    try {
      of_file_ = parse_all(app_, options_, given, config_option_, line_);
    } catch (const CLI::CallForHelp&) {
      finished = true;
      out = help_asked_for();
      return line_;
    }
    check_run_together(app_, given);
    if (flags_["version"]) {
      finished = true;
      out = version_line();
      return line_;
    }
    settle_verb();
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

  static std::string name(const Option& option) { return std::string(option.flags); }
  static CLI::Option* take_last(CLI::Option* option) {
    return option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
  // Options that the reading itself heeds.
  void add_own(const Option& option) {
    const std::string_view field = option.field;
    if (field == "config") config_option_ = take_last(app_.add_option(name(option), config_));
    else if (field == "set") options_["set"] = app_.add_option(name(option), sets_)->allow_extra_args(false);
    else if (field == "value") options_["value"] = app_.add_option(name(option), line_.values)->allow_extra_args(false);
    else if (field == "verbose") app_.add_flag(name(option), verbosity_);
    else app_.add_flag(name(option), flags_[option.field]);
  }

  void take_first_word(std::vector<std::string>& arguments) {
    if (arguments.empty() || !std::ranges::count(first_words(), arguments.front())) return;
    line_.verb = arguments.front();
    verb_given_ = true;
    arguments.erase(arguments.begin());
  }
  void take_operand_as_verb(const std::string& verb) {
    line_.verb = verb;
    verb_given_ = true;
    line_.operands.erase(line_.operands.begin());
  }
  // The verb may follow options; and of one that has two words the second does.
  void settle_verb() {
    if (verbs().empty()) return;  // a program that only reads specs
    if (!verb_given_ && line_.operands.size() > 1 && std::ranges::count(first_words(), line_.operands.front()))
      take_operand_as_verb(line_.operands.front());
    if (!verb_given_ && !line_.operands.empty()) check_is_file(line_.operands.front());
    if (find_verb(line_.verb)) return;
    const std::vector<std::string> seconds = second_words(line_.verb);
    if (line_.operands.empty())
      fail(ErrorKind::config, "neon ", line_.verb, " needs a second word: one of ", join(seconds, ", "),
           "; neon --help says more");
    const std::string second = line_.operands.front();
    if (!std::ranges::count(seconds, second))
      fail(ErrorKind::config, in_quotes(second), " is no verb of neon ", line_.verb, did_you_mean(second, seconds),
           " (known: ", join(seconds, ", "), ")");
    take_operand_as_verb(line_.verb + " " + second);
  }
  static std::vector<std::string> second_words(const std::string& first) {
    std::vector<std::string> out;
    for (const Verb* verb : verbs())
      if (verb->name.starts_with(first + " ")) out.emplace_back(verb->name.substr(first.size() + 1));
    return out;
  }
  // A bare word where a spec is expected was meant as a verb, unless a file has that name.
  void check_is_file(const std::string& word) const {
    if (word.empty() || word.find_first_of("./") != word.npos || access(word.c_str(), F_OK) == 0) return;
    if (line_.operands.size() > 1 || resembles_verb(word)) unknown_verb(word);
    fail(ErrorKind::config, word, ": there is no such file or verb", nearest_file(word),
         "; neon --help lists the verbs");
  }

  // After CLI11 saw -h: of the verb that is there, else of all.
  std::string help_asked_for() {
    if (!verb_given_ && !line_.operands.empty() && std::ranges::count(first_words(), line_.operands.front()))
      take_operand_as_verb(line_.operands.front());
    if (!verb_given_ && !line_.operands.empty() && !verbs().empty()) check_is_file(line_.operands.front());
    if (!verb_given_) return help_of_all();
    std::string out;
    const std::string two = line_.operands.empty() ? "" : line_.verb + " " + line_.operands.front();
    for (const Verb* verb : verbs())
      if (verb->name == line_.verb ||
          (verb->name.starts_with(line_.verb + " ") && (!find_verb(two) || verb->name == two)))
        out += (out.empty() ? "" : "\n") + help_of(*verb);
    return out;
  }

  // Where the values of an option are from, for messages: "a.cfg: option -e,--epochs".
  std::string place_of(const Option& option, size_t value) {
    return text(value < of_file_[option.field] ? config_ + ": " : "", "option ", option.flags);
  }

  // Values of an option that a later one replaces must be right all the same.
  template <typename Params>
  void check_replaced(const Option& option, Problems& problems) {
    const std::vector<std::string>& given = results_of(options_, option.field);
    for (size_t i = 0; i + 1 < given.size(); ++i) {
      Setting one = Setting::map({});
      add_option(one, option.field, given[i], place_of(option, i));
      read_params<Params>(one, problems);
    }
  }

  // The options of a holder that were given, as a setting for its parameters.
  template <typename Params>
  Setting given_of(Holder holder, Problems& problems) {
    Setting out = Setting::map({});
    for (const Option& option : all_options()) {
      if (option.holder != holder || results_of(options_, option.field).empty()) continue;
      check_use(option);
      check_replaced<Params>(option, problems);
      const size_t last = results_of(options_, option.field).size() - 1;
      add_option(out, option.field, values_[option.field], place_of(option, last));
    }
    return out;
  }
  bool was_typed(const Option& option) { return results_of(options_, option.field).size() > of_file_[option.field]; }
  void check_use(const Option& option) {
    const Verb* const verb = find_verb(line_.verb);
    // A file of options is for every verb; but an option that names its verbs means nothing to others.
    if (verb && !takes(*verb, option) && (was_typed(option) || !option.groups)) does_nothing(option, *verb);
    refuse_empty(option, results_of(options_, option.field));
  }

  void check_set(const Option& set) {
    const Verb* const verb = find_verb(line_.verb);
    if (verb && !takes(*verb, set) && was_typed(set))
      fail(ErrorKind::config, "option --set does nothing with neon ", verb->name, ": the verb reads no spec");
    refuse_empty(set, sets_);
  }

  void take_values() {
    Problems problems;
    const std::string gpu_name = values_["gpu"];
    const std::optional<int64_t> named = take_count_of_gpus(values_["gpu"]);
    const Setting of_verb = given_of<VerbOptions>(Holder::verb, problems);
    line_.of_verb = read_params<VerbOptions>(of_verb, problems);
    line_.run_options = given_of<RunOptions>(Holder::run, problems);
    const Setting of_devices = given_of<DeviceRequest>(Holder::devices, problems);
    for (const Option& option : all_options())
      if (option.field == std::string_view("set") && !sets_.empty()) check_set(option);
    const auto devices = read_params<DeviceRequest>(of_devices, problems);
    read_params<RunOptions>(line_.run_options, problems);
    problems.throw_if_any();
    for (const Option& option : all_options())
      if (option.field == std::string_view("value") && !line_.values.empty()) check_use(option);
    line_.asks_for_ranks = devices.max_devices || !devices.gpus.empty() || named;
    asked(false);  // a contradiction needs no look at the GPUs here
    const AskedDevices count = asked_devices({devices.max_devices, devices.gpus, named, gpu_name});
    line_.ranks = count.count;
    if (!count.by.empty()) line_.ranks_option = count.by;
    const Verb* const verb = find_verb(line_.verb);
    if (line_.ranks < 2 || !verb || (verb->takes & takes_devices)) return;
    if (named && !last("gpu", false).empty()) refuse_devices(line_.ranks_option, *verb);
    line_.ranks = 1, line_.asks_for_ranks = false;  // a file of options is for every verb
  }

  // The last value that the file of options gave, or the command line.
  std::string last(const char* field, bool in_file) {
    const std::vector<std::string>& all = results_of(options_, field);
    const size_t begin = in_file ? 0 : of_file_[field], end = in_file ? of_file_[field] : all.size();
    return begin < end ? all[end - 1] : "";
  }
  std::string asked(bool in_file) {
    return asked_backend(
        {last("backend", in_file), last("gpu", in_file), last("device_id", in_file), last("gpus", in_file)},
        in_file ? config_ + ": " : "");
  }
  void take_backend() {
    std::string backend = asked(false);
    if (backend.empty()) backend = asked(true);
    if (Setting* said = line_.run_options.find("backend")) said->value = backend;
    else if (!backend.empty()) add_option(line_.run_options, "backend", backend, "");
  }

  // An option and --set may give one field: the typed one counts above the file of options. In one place, two different
  // values are a mistake.
  void settle_overrides() {
    for (size_t i = 0; i < sets_.size(); ++i) {
      const bool typed = i >= of_file_["set"];
      const SetOption set = option_set_by(sets_[i]);
      line_.overrides.emplace_back(sets_[i], typed ? "" : config_);
      const Setting* const value = line_.run_options.find(set.field);
      if (!value || value->value == set.value) continue;
      const bool option_typed = check_contradiction(set.field, typed, sets_[i]);
      if (typed && !option_typed) std::erase_if(line_.run_options.entries, [&](auto& e) { return e.key == set.field; });
    }
  }
  // Whether an option that gives the field was typed.
  bool check_contradiction(const std::string& field, bool typed, const std::string& assignment) {
    bool any_typed = false;
    for (const Option& option : all_options()) {
      if (option.holder != Holder::run && option.holder != Holder::devices) continue;
      const std::vector<std::string>& given = results_of(options_, option.field);
      const bool asks_backend = option.field == std::string("gpu") || option.field == std::string("gpus") ||
                                option.field == std::string("device_id");
      if (given.empty() || (option.field != field && !(asks_backend && field == "backend"))) continue;
      if (was_typed(option) == typed)
        fail(ErrorKind::config, place_of(option, given.size() - 1), " ", in_quotes(given.back()), " and --set ",
             assignment, " contradict each other; leave one out");
      any_typed = any_typed || was_typed(option);
    }
    return any_typed;
  }

  void take_flags(const std::vector<std::string>& arguments) {
    // A file of options may turn these off.
    const auto add_flag = [&](const std::string& flag, const char* field, bool value) {
      if (!any_ || !app_.count(flag)) return;
      const bool typed = std::ranges::any_of(arguments, [&](const auto& a) { return a.starts_with(flag); });
      add_option(line_.run_options, field, value ? "true" : "false", typed ? flag : config_);
    };
    add_flag("--caffe", "caffe", flags_["caffe"]);
    add_flag("--tf32", "tf32", flags_["tf32"]);
    if (flags_["deterministic"]) add_option(line_.run_options, "deterministic", "true", "--deterministic");
    if (flags_["progress_bar"]) add_option(line_.run_options, "progress_bar", "false", "--no_progress_bar");
    line_.verbose = 1 + verbosity_;
    line_.config = expand_home(config_);
  }

  const bool any_;  // option may be given
  CLI::App app_;
  CommandLine line_;
  std::vector<std::string> sets_;  // values of --set
  Options options_;
  std::map<std::string, std::string> values_;
  std::map<std::string, size_t> of_file_;  // by field: how many of its values the file of options gave
  CLI::Option* config_option_ = nullptr;
  std::string config_;
  std::map<std::string, bool> flags_;
  bool verb_given_ = false;
  int verbosity_ = 0;
};

}  // namespace

bool can_run_again(const CommandLine& line) {
  return !is_read_once(line.config) && std::ranges::none_of(line.operands, is_read_once);
}

CommandLine parse_command_line(std::vector<std::string> arguments, bool& finished, std::string& out) {
  finished = arguments == std::vector<std::string>{"--version"};
  if (finished) {
    out = version_line();
    return {};
  }
  Reader reader(arguments);
  return reader.read(std::move(arguments), finished, out);
}

}  // namespace neon
