// neon SPEC, neon resume CHECKPOINT.
#include <algorithm>
#include <filesystem>
#include <map>

#include "neon/cli/best_state.h"
#include "neon/cli/earlier_runs.h"
#include "neon/cli/fault_search.h"
#include "neon/cli/page_file.h"
#include "neon/cli/rank_launch.h"
#include "neon/cli/rank_process.h"
#include "neon/cli/run_evaluation.h"
#include "neon/cli/run_files.h"
#include "neon/cli/run_place.h"
#include "neon/cli/run_predictions.h"
#include "neon/cli/run_summary.h"
#include "neon/cli/session.h"
#include "neon/cli/slow_note.h"
#include "neon/cli/stored_places.h"
#include "neon/cli/untrained_phase.h"
#include "neon/cli/verb.h"
#include "neon/core/counted.h"
#include "neon/core/paths.h"
#include "neon/train/clock.h"
#include "neon/train/own_key.h"
#include "neon/train/run_folder.h"
#include "neon/train/terminal.h"
#include "neon/train/trainer.h"

namespace neon {

namespace {

std::string absolute_folder(const std::string& folder) {
  std::error_code error;
  const auto absolute = std::filesystem::canonical(folder, error);
  return error ? folder : absolute.string();
}

// As in neon 1.x, who says how checkpoints are kept wants some.
void name_checkpoint(RunOptions& options, const CommandLine& line) {
  if (!options.save_path.empty()) return;
  for (const char* option : {"serialize", "history"}) {
    if (!line.run_options.find(option)) continue;
    options.save_path = "neon_model.safetensors";
    print_message(text("warning: --", option, " without -s: checkpoints go to ", options.save_path));
    return;
  }
}

// The same file of options may be given again, with what it said then.
void check_fixed(const CommandLine& line, const OpenedRun& opened, const std::string& path) {
  const auto check = [&](bool same, const std::string& what) {
    if (same) return;
    fail(ErrorKind::config, what, " cannot change when a run goes on; start another with --model_file ", path);
  };
  const Setting was = write_params(opened.run.options), now = write_params(line.run());
  for (const char* fixed :
       {"batch_size", "datatype", "fixed_point", "rng_seed", "rounding", "caffe", "tf32", "model_file"})
    check(!line.run_options.find(fixed) || now.find(fixed)->to_string() == was.find(fixed)->to_string(),
          text("--", fixed));
  // The spec counts where no option is given.
  const Experiment then(opened.run.spec);
  const RunOptions options = options_of(line, opened);
  const ExperimentParams& params = opened.experiment->params;
  const RunOptions& began = opened.run.options;
  check(options.batch_size.value_or(params.batch_size) == began.batch_size.value_or(then.params.batch_size),
        "batch_size");
  check(data_type(options, params) == data_type(began, then.params), "datatype");
  check((options.fixed_point.empty() ? params.fixed_point : options.fixed_point) ==
            (began.fixed_point.empty() ? then.params.fixed_point : began.fixed_point),
        "fixed_point");
  check((options.rng_seed ? options.rng_seed : params.rng_seed) ==
            (began.rng_seed ? began.rng_seed : then.params.rng_seed),
        "rng_seed");
  check(params.buckets == then.params.buckets, "buckets");
}

// With -v the weights of --model_file, with -vv what became of the step, with -vvv all of it.
void tell_plan(Trainer& trainer, const CommandLine& line) {
  if (line.verbose > 1) trainer.report().listing(trainer.taken().listing());
  if (line.verbose < 3) return;
  const Lowered& lowered = trainer.steps().program().lowered();
  std::map<std::string, int> kinds;
  for (const std::string& implementation : trainer.steps().program().implementations()) ++kinds[implementation];
  std::vector<std::string> kernels;
  for (const auto& [name, count] : kinds) kernels.push_back(text(count, " ", name));
  double stored = 0;
  for (const auto& [name, tensor] : trainer.variables().all()) stored += double(tensor.bytes());
  trainer.report().message(
      text("plan: ", trainer.steps().graph().graph.node_count(), " ops in ", lowered.kernels.size(), " kernels (",
           join(kernels, ", "), "), ", trainer.device_text(), "; values of ", bytes_text(double(lowered.value_bytes)),
           " share ", bytes_text(double(lowered.arena_bytes)), ", weights and optimizer ", bytes_text(stored)));
  if (line.verbose > 3) trainer.report().listing(to_string(lowered));
}

// Whether this process writes files: it is alone, or the first of several ranks.
bool leads() { return !own_ranks() || own_ranks()->leads(); }

// Refuses files that the spec asks for beside those of options, and reports those that the run cannot write.
void begin_files_of_spec(const CommandLine& line, const Experiment& experiment, const Data& data,
                         const RunOptions& options) {
  std::vector<std::string> warnings =
      experiment.placing([&] { return check_best_state(line, experiment, options, !options.run_folder.empty()); });
  std::ranges::move(experiment.placing([&] { return check_predictions(line, experiment, data, options); }),
                    std::back_inserter(warnings));
  if (!leads()) return;
  for (const std::string& warning : warnings) print_message(warning);
}

int train(Trainer& trainer, const Experiment& experiment, const Data& data, const RunOptions& options,
          const CommandLine& line) {
  const RunResult result = trainer.run([&] { tell_plan(trainer, line); });
  if (leads()) {
    const WorkAlone alone(own_ranks());
    std::vector<std::string> warnings;
    if (!result.signal) {
      warnings.push_back(write_run_evaluation(line, experiment, data, options));
      std::ranges::move(write_run_predictions(line, experiment, data, options), std::back_inserter(warnings));
      std::ranges::move(write_best_state(experiment, options), std::back_inserter(warnings));
    }
    std::ranges::move(write_run_page(options.run_folder), std::back_inserter(warnings));
    std::erase(warnings, "");
    for (const std::string& warning : warnings) print_message(warning);
  }
  for (const std::string& said : run_summary(result, experiment, data, options, line)) {
    trainer.report().log(said);
    print_result(said);
  }
  return result.signal ? 128 + result.signal : 0;
}

// Nothing of a run that looks for a faulty kernel is kept.
void write_nothing(RunOptions& options) {
  options.save_path.clear(), options.output_file.clear(), options.log_file.clear();
  options.progress_bar = false;
}

[[noreturn]] void end_search(Trainer& trainer) {
  constexpr int64_t kAtOnce = 64;
  const int64_t steps = steps_to_search();
  const double end = now_seconds() + kSecondsOfSearch;
  int64_t done = 0;
  for (int64_t count; done < steps && now_seconds() < end; done += count) {
    count = std::min(steps - done, kAtOnce);
    trainer.steps().repeat(count);
  }
  trainer.evaluations().repeat();
  fail(ErrorKind::device, done, " steps", done < steps ? text(" of ", steps, ", as many as ten minutes allow,") : "",
       " and an evaluation ran without a fault");
}

}  // namespace

namespace {

int run_train(const CommandLine& line) {
  outlive_closed_pipes();
  const std::string& path = only_operand(line);
  if (starts_ranks(line)) return start_ranks(line);
  const OpenedSpec spec = open_spec(line, path);
  RunOptions options = options_of(line, spec);
  name_checkpoint(options, line);
  write_as_rank(options);
  options.spec_dir = absolute_folder(spec.folder);
  options.run_dir = current_dir();
  check_files_differ(options, {"the spec", path, false});
  check_outputs(line, options, {*spec.experiment, options});
  const bool searches = !fault_searched_for().empty();
  if (searches) write_nothing(options);
  const bool asked = choose_backend(line, options, *spec.experiment);
  const auto waking = wake_gpu(options, *spec.experiment);
  if (!options.rng_seed) options.rng_seed = spec.experiment->params.rng_seed;
  const Data data = load_data(*spec.experiment, options, options.spec_dir);
  RunPlace place = searches ? RunPlace() : RunPlace(line, run_name(path), options);
  if (!options.save_path.empty() && leads()) make_own_key();
  if (!searches) begin_files_of_spec(line, *spec.experiment, data, options);
  KeptFiles kept;
  ClearedOutputs cleared;
  if (leads()) kept = KeptFiles(options), cleared = clear_outputs(line, options);
  const auto trainer = spec.experiment->placing([&] {
    const SlowNote note("making the programs of a step ...");
    return on_device_or_cpu(options, asked, [&] {
      return std::make_unique<Trainer>(*spec.experiment, data, options, nullptr, seed_of_fault(), own_ranks());
    });
  });
  cleared.settle();
  kept.settle();
  place.settle(options);
  if (searches) end_search(*trainer);
  return train(*trainer, *spec.experiment, data, options, line);
}

// Prints where a run goes on, and whether it has anything left to do.
void print_place(const OpenedRun& opened, const RunOptions& options, const std::string& path) {
  const Position& at = opened.run.position;
  print_message(text("going on after epoch ", at.epoch, ", step ", at.step_in_epoch));
  const int64_t epochs = options.epochs.value_or(opened.experiment->params.epochs);
  if (at.epoch < epochs) return;
  const std::string its = counted(epochs, "epoch"), untrained = untrained_phase(*opened.experiment, at, path);
  const std::string done = at.epoch > epochs ? text(counted(at.epoch, "epoch"), ", more than ", epochs) : "its " + its;
  print_message(text("the run has done ", done, "; ", untrained.empty() ? "-e N trains on to epoch N" : untrained));
}

int run_resume(const CommandLine& line) {
  outlive_closed_pipes();
  if (starts_ranks(line)) return start_ranks(line);
  const std::string path = checkpoint_operand(line, {kLastFile});
  const OpenedRun opened = open_checkpoint(line, path);
  check_fixed(line, opened, path);
  RunOptions options = options_of(line, opened);
  if (!line.run_options.find("save_path")) options.save_path = path;
  const std::string new_run = place_resumed(line, opened, path, options);
  write_as_rank(options);
  check_metrics_are_its_own(line, opened.run.options, options, path);
  check_stored_names(line, options, path);
  check_folders(line, options);
  check_files_differ(options, {"the checkpoint", path, true});
  check_outputs(line, options, {*opened.experiment, options});
  const bool searches = !fault_searched_for().empty();
  if (searches) write_nothing(options);
  const bool asked = choose_backend(line, options, *opened.experiment);
  const auto waking = wake_gpu(options, *opened.experiment);
  const FormerRun former{opened.run, true, may_fetch(line, options), read_limits(line, opened, path)};
  const Data data = load_data(*opened.experiment, options, options.spec_dir, &former);
  if (former.limits) forget_forbidden_places(options, *former.limits);
  if (leads()) make_own_key();
  RunPlace place = searches || new_run.empty() ? RunPlace() : RunPlace(line, new_run, options);
  if (!searches) begin_files_of_spec(line, *opened.experiment, data, options);
  KeptFiles kept;
  ClearedOutputs cleared;
  if (leads()) kept = KeptFiles(options), cleared = clear_outputs(line, options);
  const auto trainer = opened.experiment->placing([&] {
    const SlowNote note("making the programs of a step ...");
    return on_device_or_cpu(options, asked, [&] {
      return std::make_unique<Trainer>(*opened.experiment, data, options, &opened.run, std::nullopt, own_ranks());
    });
  });
  print_place(opened, options, path);
  if (!searches && new_run.empty()) print_message("writes " + written_files(options));
  cleared.settle();
  kept.settle();
  place.settle(options);
  if (searches) end_search(*trainer);
  return train(*trainer, *opened.experiment, data, options, line);
}

}  // namespace

NEON_VERB(run_train, "train", 10, takes_run | takes_values | computes, "SPEC", "train the net of a spec");
NEON_VERB(run_resume, "resume", 20, takes_run | computes, "[CHECKPOINT]",
          "go on with a run, by default the newest in runs/; -e N goes on to epoch N");

}  // namespace neon
