#include "neon/cli/refused_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>

#include "neon/cli/arguments.h"
#include "neon/core/error.h"
#include "neon/core/params.h"
#include "neon/train/options.h"

namespace neon {

namespace {

std::vector<std::string> long_options(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) out.push_back("--" + name);
  return out;
}

// Options of older neons and of other programs, and what to do here.
struct Departed {
  std::string_view prefix;
  const char* instead;
};
constexpr const char *kEngine = "; the Nervana Engine is not taken over: -b gpu or -b cpu",
                     *kFlexpoint = "; a type of the Nervana Engine; --fixed_point BITS.FRACTION emulates fixed point",
                     *kSixteen = "; -d f16 or -d bf16 trains in 16 bits",
                     *kWeights =
                         "; --model_file FILE starts from the weights of a file, neon resume goes on with a run",
                     *kThreads = "; OMP_NUM_THREADS in the environment sets the number of threads",
                     *kDebugger = "; a debugger of Python: leave it out; -vv prints more";
constexpr Departed kDeparted[] = {
    {"--manifest", "; the spec names the list of images: dataset: {ImageList: {path: FILE}}"},
    {"--profil", "; neon bench SPEC times the training step"},
    {"--nrv", kEngine},
    {"-n", kEngine},
    {"--flexpoint", kFlexpoint},
    {"-f", kFlexpoint},
    {"--numerr", "; a run that overflows ends by itself: leave it out"},
    {"--integration", "; a mode of neon 0.9's own tests: leave it out"},
    {"--cloud", "; there is no cloud: leave it out"},
    {"--log_token", "; a key to Nervana's cloud: leave it out"},
    {"--debug", kDebugger},
    {"--trace", kDebugger},
    {"-t", kDebugger},
    {"--lr", "; the optimizer has it: --set optimizer.learning_rate=0.01"},
    {"--learning", "; the optimizer has it: --set optimizer.learning_rate=0.01"},
    {"--cpu", "; -b cpu runs on the CPU"},
    {"--cuda", "; -b gpu runs on the GPU"},
    {"--amp", kSixteen},
    {"--fp16", kSixteen},
    {"--bf16", kSixteen},
    {"--half", kSixteen},
    {"--load", kWeights},
    {"--checkpoint", kWeights},
    {"--pretrained", kWeights},
    {"--weights", kWeights},
    {"--workers", kThreads},
    {"--num_workers", kThreads},
    {"--num-workers", kThreads},
    {"--threads", kThreads},
    {"--resume", "; neon resume CHECKPOINT goes on with a run"},
    {"--seed", "; write -r or --rng_seed"},
    {"--device", "; write -b cpu, -b gpu, or -i N for the GPU's number"},
    {"--dtype", "; write -d or --datatype"},
    {"--precision", "; write -d or --datatype"},
};

// "; did you mean --epochs?": the dashes are no letters of the name.
std::string near_option(const std::string& name, std::vector<std::string> known) {
  const auto bare = [](const std::string& option) { return option.substr(option.find_first_not_of('-')); };
  std::vector<std::string> names;
  for (const std::string& option : known) names.push_back(bare(option));
  std::vector<std::string> near = nearest(name.find_first_not_of('-') == name.npos ? "" : bare(name), names);
  for (std::string& option : near) option = known[size_t(std::ranges::find(names, option) - names.begin())];
  return near.empty() ? "" : "; did you mean " + join(near, " or ") + "?";
}

bool is_letter(std::string_view option) { return option.size() == 2; }

[[noreturn]] void unknown_option(const CLI::App& app, const std::string& name) {
  for (const Departed& departed : kDeparted)
    if (is_letter(departed.prefix) ? name == departed.prefix : name.starts_with(departed.prefix))
      fail(ErrorKind::config, "unknown option '", name, "'", departed.instead);
  std::vector<std::string> known = long_options(app);
  known.insert(known.begin(), "-eval");
  fail(ErrorKind::config, "unknown option '", name, "'", near_option(name, known), "; neon --help lists them");
}

[[noreturn]] void not_understood(const CLI::App& app, const std::vector<std::string>& given, const std::string& why) {
  for (const std::string& argument : given) {
    const std::string name = argument.substr(0, argument.find('='));
    if (name.size() > 1 && name[0] == '-' && !app.get_option_no_throw(name)) unknown_option(app, name);
  }
  fail(ErrorKind::config, why, "; neon --help lists the options");
}

bool is_number(const std::string& word) {
  return !word.empty() && std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; });
}

// 0.9 took as many GPUs as numbers: -i 0 1 2 3.
void refuse_list_of_devices(const std::vector<std::string>& given) {
  for (size_t i = 0; i + 2 < given.size(); ++i) {
    if ((given[i] != "-i" && given[i] != "--device_id") || !is_number(given[i + 1]) || !is_number(given[i + 2]))
      continue;
    size_t count = 2;
    while (i + 1 + count < given.size() && is_number(given[i + 1 + count])) ++count;
    fail(ErrorKind::config, "option ", given[i], " takes one number, the first GPU's: -i ", given[i + 1], " -m ", count,
         " trains on ", count, " GPUs");
  }
}

// Letters that were flags in 0.9 take a value here.
[[noreturn]] void refuse_spec_as_value(const char* option, const char* value, const std::string& spec,
                                       const char* before) {
  fail(ErrorKind::config, "option ", option, " takes ", value, ", and ", printable(spec), " is a spec; ", option,
       " of neon 0.9, ", before, ", has no counterpart: leave it out");
}

void refuse_spec_as_type(const std::vector<std::string>& given) {
  for (size_t i = 0; i + 1 < given.size(); ++i)
    if (given[i] == "-d" && is_spec(given[i + 1]))
      refuse_spec_as_value("-d", "a type, as f16", given[i + 1], "a debugger of Python");
}

bool takes_integer(const std::string& letter) {
  return std::ranges::any_of(all_options(), [&](const Option& option) {
    return option.holder == Holder::run && option.flags.starts_with(letter + ",") &&
           schema_of<RunOptions>().find(option.field)->type == "integer";
  });
}

}  // namespace

void parse(CLI::App& app, const std::vector<std::string>& arguments) {
  refuse_list_of_devices(arguments);
  refuse_spec_as_type(arguments);
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    throw;
  } catch (const CLI::ParseError& error) {
    const std::string what = error.what();
    const bool missing = what.ends_with(" required TEXT missing");
    not_understood(app, arguments, missing ? text("option ", what.substr(0, what.find(':')), " needs a value") : what);
  }
}

void refuse_spec_as_options(const std::string& file, const CommandLine& line) {
  const Verb* const verb = find_verb(line.verb);
  if (is_spec(file) && line.operands.empty() && verb && verb->operands.starts_with("SPEC"))
    refuse_spec_as_value("-c", "a file of options", file, "for Nervana's cloud");
}

void check_run_together(const CLI::App& app, const std::vector<std::string>& given) {
  const std::vector<std::string> known = long_options(app);
  for (const std::string& argument : given) {
    if (argument.size() < 3 || argument[0] != '-' || !std::isalpha(uint8_t(argument[1]))) continue;
    const std::string name = argument.substr(0, argument.find('='));
    const bool no_number = std::isalpha(uint8_t(argument[2])) && takes_integer(argument.substr(0, 2));
    if (no_number || std::ranges::count(known, "-" + name)) unknown_option(app, name);
  }
}

void refuse_devices(std::string_view option, const Verb& verb) {
  std::vector<std::string> several;
  for (const Verb* const other : verbs())
    if (other->takes & takes_devices) several.push_back(other->name == "train" ? "SPEC" : std::string(other->name));
  fail(ErrorKind::config, "option ", option, " does nothing with neon ", verb.name,
       (verb.takes & takes_device) ? ", which computes on one device" : "", "; these take several: neon ",
       join(several, ", neon "));
}

void does_nothing(const Option& option, const Verb& verb) {
  if (option.groups == takes_devices) refuse_devices(option.flags, verb);
  const std::string of = verbs_of(option);
  fail(ErrorKind::config, "option ", option.flags, " does nothing with neon ", verb.name, "; ",
       of.empty() ? "leave it out" : "it is for neon " + of);
}

}  // namespace neon
