// neon formats SPEC: one spec trained in each type of numbers, with the same seeds, as one table.
#include <poll.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "neon/cli/child_process.h"
#include "neon/cli/format_table.h"
#include "neon/cli/objective.h"
#include "neon/cli/search_plan.h"
#include "neon/cli/verb.h"
#include "neon/train/metrics_file.h"
#include "neon/train/signals.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kMillisecondsToSignals = 200;  // between looks at signals

class FormatRuns {
 public:
  explicit FormatRuns(const CommandLine& line)
      : line_(line), path_(only_operand(line)), text_(whole_spec(line, path_)) {
    const OpenedSpec spec = open_spec(line, path_);
    if (!spec.experiment->params.fixed_point.empty())
      fail(ErrorKind::config, path_,
           ": fixed_point: neon formats tries all types of numbers; leave the key out, and give ", "--fixed ",
           spec.experiment->params.fixed_point, " for the row of that type");
    RunOptions options = options_of(line, spec);
    choose_backend(line, options, *spec.experiment);
    check_objective(spec, options, line.of_verb.metric);
    device_ = {"-b", options.backend};
    gpu_ = options.backend == "gpu";
    if (gpu_) device_.insert(device_.end(), {"-i", text(options.device_id)});
    const auto given = options.rng_seed ? options.rng_seed : spec.experiment->params.rng_seed;
    first_seed_ = uint64_t(given.value_or(1));
    for (const NumberFormat& format : number_formats(line.of_verb.fixed)) {
      const bool runs = gpu_ ? format.on_gpu : format.on_cpu;
      if (runs) rows_.push_back({format, {}, ""});
      else left_out_.push_back(format.name);
    }
    const std::string folder = folder_of_formats(line, path_);
    file_ = folder + "/" + kFormatTable;
    if (!line.of_verb.overwrite) check_metrics_replaceable(file_);
    make_folder_of(file_);
    logs_ = folder + "/logs/";
  }

  int run() {
    const SignalGuard signals;
    // Formats take turns, so that a machine that slows down does so to all of them.
    for (int64_t seed = 0; seed < line_.of_verb.seeds; ++seed)
      for (FormatRow& row : rows_) {
        if (row.format.words.empty() || !row.cause.empty()) continue;
        train(row, first_seed_ + uint64_t(seed));
        if (const int signal = stop_signal()) return 128 + signal;
      }
    print_format_table(rows_);
    print_lost_shares(rows_);
    if (!left_out_.empty())
      print_result(text("left out: ", join(left_out_, ", "), gpu_ ? " (on the CPU only)" : " (on a GPU only)"));
    if (rows_.back().format.words.empty())
      print_result(text("not trained: ", rows_.back().format.name, "; neon emulates up to ", kMostFixedBits,
                        " bits, its shares are those of the numbers of f32"));
    write_format_table(file_, rows_, line_.of_verb.overwrite);
    print_result("wrote " + file_);
    if (rows_.front().runs.empty()) fail(ErrorKind::failed, "f32: ", rows_.front().cause);
    return 0;
  }

 private:
  void train(FormatRow& row, uint64_t seed) {
    check_unchanged(line_, path_, text_, "give the command again");
    std::vector<std::string> words = {"formats", "--objective", "-r", text(seed)};
    const std::vector<std::string> options = words_of_options(line_);
    for (const std::vector<std::string>* part : {&std::as_const(device_), &std::as_const(row.format.words), &options})
      words.insert(words.end(), part->begin(), part->end());
    if (!line_.of_verb.metric.empty()) words.push_back("--metric=" + line_.of_verb.metric);
    for (const std::string& value : line_.values) words.insert(words.end(), {"--value", value});
    words.insert(words.end(), {"--", path_});
    ChildProcess child(words, {}, text(logs_, row.format.key(), "-", seed, ".txt"));
    Json result;
    while (!child.ended() && !stop_signal()) {
      pollfd ready{child.descriptor(), POLLIN, 0};
      poll(&ready, 1, kMillisecondsToSignals);
      for (const std::string& said : child.lines()) result = Json::parse(said, nullptr, false);
    }
    if (stop_signal()) return;
    take(row, seed, result, child);
  }

  void take(FormatRow& row, uint64_t seed, const Json& result, ChildProcess& child) {
    const std::string failure = child.failure();
    const bool whole = result.is_object() && result.value("status", "") == "done" && result["objective"].is_number();
    if (!whole) {
      const std::string cause = result.is_object() ? result.value("cause", "") : "";
      row.cause = !cause.empty() ? cause : failure.empty() ? "its result is no finite number" : failure;
      print_message(text(row.format.name, ", seed ", seed, ": ", row.cause));
      return;
    }
    FormatRun run;
    run.seed = seed;
    run.metric = result.at("metric");
    run.objective = result.at("objective");
    run.seconds = result.at("training_seconds");
    run.bytes = result.at("bytes");
    run.skipped = result.at("skipped");
    run.loss_scale = result.at("loss_scale");
    for (const auto& [name, counts] : result.at("sizes").items()) run.sizes[name] = size_counts_of(counts);
    print_message(text(row.format.name, ", seed ", seed, ": ", run.metric, " ", formatted("%.6g", run.objective)));
    row.runs.push_back(std::move(run));
  }

  const CommandLine& line_;
  const std::string path_, text_;  // the spec's file, and what was in it
  std::vector<std::string> device_, left_out_;
  bool gpu_ = false;
  uint64_t first_seed_ = 1;
  std::vector<FormatRow> rows_;
  std::string file_, logs_;
};

int run_formats(const CommandLine& line) {
  if (line.of_verb.objective) return run_objective(line);
  for (const char* name : {"datatype", "rounding", "tf32", "fixed_point"})
    if (line.run_options.find(name))
      fail(ErrorKind::config, "neon formats tries all types of numbers; leave the option for ", name, " out");
  if (!can_run_again(line))
    fail(ErrorKind::config,
         "each run reads the spec and the file of options, and one of them is a pipe; write it to a "
         "file");
  outlive_closed_pipes();
  return FormatRuns(line).run();
}

}  // namespace

NEON_VERB(run_formats, "formats", 27, takes_step | takes_values | computes, "SPEC",
          "train a spec in each type of numbers and compare errors, times and lost numbers");

}  // namespace neon
