#include "neon/cli/command_line.h"

#include <CLI/CLI.hpp>
#include <array>
#include <map>

#include "neon/core/error.h"
#include "neon/core/version.h"
#include "neon/spec/source.h"

namespace neon {

namespace {

bool is_integer(const std::string& s) { return !s.empty() && s.find_first_not_of("0123456789") == s.npos; }

bool is_spec(const std::string& s) { return s.ends_with(".yaml") || s.ends_with(".yml"); }

// CLI11 knows no long option with one dash, and an optional value would swallow the spec that follows it.
std::vector<std::string> unambiguous(const std::vector<std::string>& arguments) {
  std::vector<std::string> out;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& a = arguments[i];
    const std::string next = i + 1 < arguments.size() ? arguments[i + 1] : "";
    auto optional_value = [&](const char* option, const char* fallback, bool take) {
      out.insert(out.end(), {option, take ? next : fallback});
      i += take;
    };
    if (a == "-eval") out.push_back("--eval_freq");
    else if (a.starts_with("-eval=")) out.push_back("--eval_freq=" + a.substr(6));
    else if (a == "-u" || a == "--rounding") optional_value("--rounding", "-1", is_integer(next));
    else if (a == "--serialize") optional_value("--serialize", "1", is_integer(next));
    else if (a == "-l" || a == "--log")
      optional_value("--log", "neon_log.txt", i + 1 < arguments.size() && !next.starts_with('-') && !is_spec(next));
    else out.push_back(a);
  }
  return out;
}

// A config file of neon 1.x: `key = value`, `key: value` or `key` a line; # and ; begin comments.
std::vector<std::string> config_arguments(const std::string& path) {
  constexpr size_t kMostBytes = 1 << 20;
  const Source file(read_text_file(path, kMostBytes), path, kMostBytes);
  auto trimmed = [](std::string_view s) {
    s.remove_prefix(std::min(s.find_first_not_of(" \t"), s.size()));
    return std::string(s.substr(0, s.find_last_not_of(" \t") + 1));
  };
  std::vector<std::string> out;
  const auto lines = int(std::ranges::count(file.text(), '\n')) + 1;
  for (int i = 0; i < lines; ++i) {
    const std::string line = trimmed(file.line(i).substr(0, file.line(i).find_first_of("#;")));
    if (line.empty()) continue;
    const size_t split = line.find_first_of("=:");
    const std::string key = trimmed(line.substr(0, split));
    if (key == "config") fail(ErrorKind::config, file.at(i, 0), ": a file of options cannot name another one");
    out.push_back("--" + key + (split == line.npos ? "" : "=" + trimmed(line.substr(split + 1))));
  }
  return out;
}

// Config files count before the command line, so that it overrules them.
std::vector<std::string> with_config(std::vector<std::string> given) {
  for (size_t i = 0; i < given.size(); ++i) {
    std::string file;
    if ((given[i] == "-c" || given[i] == "--config") && i + 1 < given.size()) file = given[i + 1];
    else if (given[i].starts_with("--config=")) file = given[i].substr(9);
    else if (given[i].starts_with("-c") && given[i].size() > 2) file = given[i].substr(2);
    if (file.empty()) continue;
    const auto extra = unambiguous(config_arguments(file));
    given.insert(given.begin(), extra.begin(), extra.end());
    break;
  }
  return given;
}

// Options whose value belongs to RunOptions.
struct RunOption {
  const char* flags;
  const char* field;
  const char* help;
  bool of_training = false;  // a checkpoint that is only looked at does nothing with it
};
constexpr RunOption kRunOptions[] = {
    {"-w,--data_dir", "data_dir", "folder of data sets"},
    {"-e,--epochs", "epochs", "passes over the training set", true},
    {"-s,--save_path", "save_path", "checkpoint, always the newest (.safetensors)", true},
    {"--serialize", "serialize", "epochs between checkpoints", true},
    {"--model_file", "model_file", "checkpoint whose weights to begin with", true},
    {"-l,--log", "log_file", "log file; neon_log.txt without a name", true},
    {"-o,--output_file", "output_file", "metrics file (HDF5)", true},
    {"--eval_freq", "eval_freq", "epochs between evaluations (also -eval)", true},
    {"-H,--history", "history", "older checkpoints kept beside the newest", true},
    {"-b,--backend", "backend", "cpu or gpu"},
    {"-i,--device_id", "device_id", "which GPU; without -b it asks for that one, as -b gpu does"},
    {"-r,--rng_seed", "rng_seed", "seed of all random numbers"},
    {"-u,--rounding", "rounding",
     "round updates by chance, to this many bits of mantissa; 10 (bf16: 7) without a number", true},
    {"-d,--datatype", "datatype", "f32, f64, f16 or bf16"},
    {"-z,--batch_size", "batch_size", "samples in a step"},
};

// Options whose value belongs to VerbOptions.
struct VerbOption {
  const char* flags;
  const char* field;
  const char* help;
  std::array<std::string_view, 2> verbs;
};
constexpr VerbOption kVerbOptions[] = {
    {"--top_k", "top_k", "classes given for each prediction", {"predict"}},
    {"--format", "format", "csv or json, of predictions and evaluations", {"predict", "eval"}},
    {"--iterations", "iterations", "steps that bench times", {"bench"}},
    {"--size", "size", "with data pack: side to which images are brought", {"data"}},
    {"--pixels", "pixels", "with data pack: store pixels instead of the files", {"data"}},
    {"--skip_bad", "skip_bad", "with data pack: leave damaged images out", {"data"}},
    {"--resolved", "resolved", "with check: print the spec with every default", {"check"}},
};

const char* const kUsage =
    "neon trains neural networks from a YAML spec.\n\n"
    "  neon [OPTIONS] SPEC            train\n"
    "  neon check SPEC                look for mistakes and for the data; train nothing\n"
    "  neon summary SPEC              the layers, their shapes, parameters and work\n"
    "  neon program SPEC              the lowered training step\n"
    "  neon bench SPEC                time the training step\n"
    "  neon resume CHECKPOINT         go on with a run\n"
    "  neon eval CHECKPOINT           cost and metrics on the test set\n"
    "  neon predict CHECKPOINT FILE   outputs for samples: a CSV, NPY, IDX or image file, a folder of images, - for "
    "stdin\n"
    "  neon data list                 the data sets, and whether they are here\n"
    "  neon data fetch NAME           download one\n"
    "  neon data check PATH           read every image of a folder, archive or packed folder; list the damaged ones\n"
    "  neon data stats SPEC           classes, and means and deviations of channels\n"
    "  neon data pack PATH FOLDER     a folder or archive of images as shards\n"
    "  neon data preview SPEC PNG     the first batch as the net sees it, augmented, on one sheet\n"
    "  neon doctor                    what was found here, and why a GPU is not used\n"
    "  neon help NAME                 a layer, optimizer, data set ... and its parameters\n";

[[noreturn]] void unknown_option(const CLI::App& app, const std::vector<std::string>& given, const char* otherwise) {
  std::vector<std::string> known = {"-eval"};
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  for (const std::string& argument : given) {
    const std::string name = argument.substr(0, argument.find('='));
    if (name.size() > 1 && name[0] == '-' && !app.get_option_no_throw(name))
      fail(ErrorKind::config, "unknown option '", name, "'", did_you_mean(name, known), "; neon --help lists them");
  }
  fail(ErrorKind::config, otherwise, "; neon --help lists the options");
}

[[noreturn]] void does_nothing(const char* flags, const std::string& verb) {
  fail(ErrorKind::config, "option ", flags, " does nothing with neon ", verb, "; leave it out");
}

void add_option(Setting& to, const std::string& field, std::string value, const std::string& option) {
  Setting setting = Setting::scalar(std::move(value));
  setting.path = option;
  to.entries.push_back({field, std::move(setting), {}});
}

}  // namespace

const std::vector<std::string>& verbs() {
  static const std::vector<std::string> all = {"train", "check",   "summary", "program", "bench", "resume",
                                               "eval",  "predict", "data",    "help",    "doctor"};
  return all;
}

CommandLine parse_command_line(std::vector<std::string> arguments, bool& finished, std::string& out) {
  finished = false;
  CommandLine line;
  if (!arguments.empty() && std::ranges::count(verbs(), arguments.front())) {
    line.verb = arguments.front();
    arguments.erase(arguments.begin());
  }
  CLI::App app(kUsage);
  app.name("neon");
  std::map<std::string, std::string> values;
  std::map<std::string, CLI::Option*> options;
  for (const RunOption& option : kRunOptions)
    options[option.field] = app.add_option(option.flags, values[option.field], option.help)
                                ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  for (const VerbOption& option : kVerbOptions) {
    const bool flag = schema_of<VerbOptions>().find(option.field)->type == "true or false";
    options[option.field] = flag ? app.add_flag(option.flags, values[option.field], option.help)
                                 : app.add_option(option.flags, values[option.field], option.help)
                                       ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
  std::string gpu, config, devices;
  bool no_bar = false, caffe = false, deterministic = false, tf32 = false, show_version = false;
  int verbosity = 0;
  app.add_option("-g,--gpu", gpu, "neon 0.9's name of -b");
  app.add_option("-c,--config", config, "file of options, one `name = value` a line");
  app.add_option("-m,--max_devices", devices, "how many GPUs at most");
  app.add_option("--set", line.overrides, "change the spec: --set layers[0].nout=50")->allow_extra_args(false);
  app.add_flag("-v,--verbose", verbosity, "say more; repeat for more still");
  app.add_flag("--no_progress_bar", no_bar, "no progress lines");
  app.add_flag("--caffe", caffe, "Caffe's sizes and dropout");
  app.add_flag("--deterministic", deterministic, "only deterministic choices; without -r, seed 0");
  app.add_flag("--tf32", tf32, "f32 products on a GPU take operands of 10 bits of mantissa");
  app.add_flag("--version", show_version, "print the version");
  app.add_option("operands", line.operands, "SPEC, or what the verb takes");

  const std::vector<std::string> given = with_config(unambiguous(arguments));
  try {
    app.parse(std::vector<std::string>(given.rbegin(), given.rend()));
  } catch (const CLI::CallForHelp&) {
    finished = true;
    out = app.help();
    return line;
  } catch (const CLI::ParseError& error) {
    unknown_option(app, given, error.what());
  }
  // The verb may follow options.
  if (line.verb == "train" && line.operands.size() > 1 && std::ranges::count(verbs(), line.operands.front())) {
    line.verb = line.operands.front();
    line.operands.erase(line.operands.begin());
  }
  if (show_version) {
    finished = true;
    out = "neon " + std::string(version()) + "\n";
    return line;
  }
  Setting of_verb = Setting::map({});
  for (const VerbOption& option : kVerbOptions) {
    if (!options[option.field]->count()) continue;
    if (!std::ranges::count(option.verbs, line.verb)) does_nothing(option.flags, line.verb);
    add_option(of_verb, option.field, values[option.field], text("option ", option.flags));
  }
  line.of_verb = read_params<VerbOptions>(of_verb);
  line.run_options = Setting::map({});
  auto add = [&](const std::string& field, std::string value, const std::string& option) {
    add_option(line.run_options, field, std::move(value), option);
  };
  const bool trains = line.verb != "eval" && line.verb != "predict" && line.verb != "data";
  for (const RunOption& option : kRunOptions) {
    if (!options[option.field]->count()) continue;
    // A file of options is for every verb.
    if (option.of_training && !trains && config.empty()) does_nothing(option.flags, line.verb);
    if (values[option.field].empty() && schema_of<RunOptions>().find(option.field)->type == "text")
      fail(ErrorKind::config, "option ", option.flags, ": its value is empty; give one, or leave the option out");
    add(option.field, values[option.field], text("option ", option.flags));
  }
  if (!options["backend"]->count()) {
    if (!gpu.empty()) add("backend", gpu == "cpu" ? "cpu" : "gpu", "option -g,--gpu");
    else if (options["device_id"]->count()) add("backend", "gpu", "option -i,--device_id");  // a GPU was named
  }
  if (caffe) add("caffe", "true", "--caffe");
  if (deterministic) add("deterministic", "true", "--deterministic");
  if (tf32) add("tf32", "true", "--tf32");
  if (no_bar) add("progress_bar", "false", "--no_progress_bar");
  line.verbose = 1 + verbosity;
  if (!devices.empty() && devices != "1") fail(ErrorKind::config, "-m ", devices, ": this build trains on one device");
  return line;
}

}  // namespace neon
