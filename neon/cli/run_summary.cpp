#include "neon/cli/run_summary.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "neon/cli/rank_process.h"
#include "neon/cli/untrained_phase.h"
#include "neon/core/counted.h"
#include "neon/core/paths.h"
#include "neon/train/atomic_file.h"
#include "neon/train/best_result.h"
#include "neon/train/run_folder.h"

namespace neon {

namespace {

// A file's name as an operand, never an option.
std::string operand_word(const std::string& path) { return shell_word(path.starts_with('-') ? "./" + path : path); }

// The same command for the shell, with more options: last, unless what is last may be no option.
std::string again_with(const CommandLine& line, const std::vector<std::string>& options) {
  std::vector<std::string> words = line.words;
  words.insert(std::ranges::count(words, "--") ? words.begin() : words.end(), options.begin(), options.end());
  std::string out = shell_word(line.program);
  for (const std::string& word : words) out += " " + shell_word(word);
  return out;
}

// model.safetensors, or where a file of the run has that name model2.safetensors and so on.
std::string unused_name(const std::string& stem, const std::string& suffix, const RunOptions& options) {
  const auto is_used = [&](const std::string& name) {
    return std::ranges::any_of(std::vector{options.output_file, options.log_file, options.model_file},
                               [&](const std::filesystem::path& path) {
                                 return path.filename() == name || path.filename() == name + ".part";
                               });
  };
  std::string out = stem + suffix;
  for (int number = 2; is_used(out); ++number) out = text(stem, number, suffix);
  return out;
}

// "Ctrl-C", or the signal's name.
std::string signal_words(int signal) {
  if (signal == SIGINT) return "Ctrl-C";
  const char* const name = sigabbrev_np(signal);
  return name ? text("SIG", name) : text("signal ", signal);
}

// The results, and how long the run took.
std::vector<std::string> outcome(const RunResult& result, const Experiment& experiment, const Data& data,
                                 const RunOptions& options, const CommandLine& line) {
  const Position& at = result.position;
  std::vector<std::string> out;
  if (result.signal) {
    const std::string place = result.in_evaluation ? text("the evaluation after epoch ", at.epoch)
                                                   : text("epoch ", at.epoch + 1, ", step ", at.step_in_epoch);
    return {text("stopped by ", signal_words(result.signal), " in ", place)};
  }
  const auto add_results = [&](const std::map<std::string, double>& results, const std::string& set) {
    if (results.empty()) return;
    out.push_back(text(set, ": ", results_text(results, experiment, set), "  (", data.source_of(set), ")"));
  };
  add_results(result.results, set_during_training(data).name);
  add_results(result.at_end, set_at_end(data).name);
  if (out.empty() && result.cost)  // there is nothing to test with
    out.push_back(text("training: cost ", cost_text(*result.cost), " in the last epoch  (", data.source, ")"));
  // A run that goes on keeps its seed, wherever that is from, and takes no other.
  const bool fixed_seed = line.verb == "train" && options.deterministic && !options.rng_seed;
  out.push_back(text("trained ", counted(at.epoch, "epoch"), " in ", duration_text(at.seconds), ", seed ", at.seed,
                     fixed_seed ? " (from --deterministic; -r N sets another)" : ""));
  if (result.waiting) {
    constexpr double kMuch = 0.1;
    out.push_back(text("waited for data: ", std::lround(100 * *result.waiting), " % of the time",
                       *result.waiting > kMuch ? "; more threads, or neon data pack, may shorten that" : ""));
  }
  return out;
}

// The best checkpoint in the run's folder; "" without one.
std::string best_file(const RunOptions& options) {
  if (options.run_folder.empty()) return "";
  const std::string path = join_path(options.run_folder, kBestFile);
  std::error_code ignored;
  return std::filesystem::exists(path, ignored) ? path : "";
}

// The command that goes on with the run, on as many devices.
std::string resume_command(const std::string& save, const CommandLine& line) {
  std::string out = text(with_ranks(shell_word(line.program)), " resume");
  if (const Setting* const backend = line.run_options.find("backend")) out += " -b " + shell_word(backend->value);
  if (line.asks_for_ranks && line.ranks > 1) out += " " + line.ranks_option;
  return out + " " + operand_word(save);
}

// The command to try next; "" for none.
std::string next_command(const RunResult& result, const Experiment& experiment, const RunOptions& options,
                         const CommandLine& line) {
  const std::string program = shell_word(line.program), &save = options.save_path, best = best_file(options);
  std::vector<std::string> keep = {"-s", unused_name("model", ".safetensors", options)};
  if (options.output_file.empty()) keep.insert(keep.end(), {"-o", unused_name("run", ".h5", options)});
  const bool again = can_run_again(line);
  if (save.empty() && again) return with_ranks(again_with(line, keep));
  if (!result.saved && again) return with_ranks(again_with(line, {}));
  if (!result.saved) return "";
  if (result.signal) return resume_command(save, line);
  if (!untrained_phase(experiment, result.position, save).empty())
    return text(resume_command(save, line), " -e ", experiment.params.epochs);
  if (!result.results.empty()) return text(program, " eval ", operand_word(best.empty() ? save : best));
  return text(resume_command(save, line), " -e ", 2 * result.position.epoch);  // no test set
}

}  // namespace

std::vector<std::string> run_summary(const RunResult& result, const Experiment& experiment, const Data& data,
                                     const RunOptions& options, const CommandLine& line) {
  const Position& at = result.position;
  std::vector<std::string> out = outcome(result, experiment, data, options, line);
  if (at.skipped) out.push_back(text("skipped ", counted(at.skipped, "step"), " that overflowed"));
  for (const std::string& file : result.files)
    if (options.run_folder.empty() || folder_of(file) != options.run_folder) out.push_back("wrote " + file);
  if (const std::string best = best_file(options); !best.empty() && at.best)
    out.push_back(text("best: ", best, ", epoch ", at.best_epoch, ", ", best_text(at, experiment, result.set)));
  if (!options.run_folder.empty() && result.saved)
    out.push_back(text("last: ", options.save_path, ", epoch ", at.epoch));
  if (options.save_path.empty() && !result.signal) out.push_back("nothing was saved: -s FILE saves the net");
  if (const std::string next = next_command(result, experiment, options, line); !next.empty())
    out.push_back("next: " + next);
  return out;
}

}  // namespace neon
