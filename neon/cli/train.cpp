// neon SPEC, neon resume CHECKPOINT.
#include <cstdio>
#include <filesystem>

#include "neon/cli/session.h"
#include "neon/cli/verbs.h"
#include "neon/train/trainer.h"

namespace neon {

namespace {

std::string absolute_folder(const std::string& folder) {
  std::error_code error;
  const auto absolute = std::filesystem::canonical(folder, error);
  return error ? folder : absolute.string();
}

struct NamedFile {
  std::string what, path;
  bool is_checkpoint;
};

// A log in the spec or metrics over a checkpoint would lose it. Only checkpoints may be read and written under one
// name.
void check_files_differ(const RunOptions& options, const NamedFile& operand) {
  std::vector<NamedFile> files;
  auto add = [&](const std::string& what, const std::string& path, bool is_checkpoint = false) {
    if (path.empty()) return;
    std::error_code error;
    auto real = std::filesystem::absolute(path, error);
    if (!error) real = std::filesystem::weakly_canonical(real, error);
    files.push_back({text(what, ' ', path), error ? path : real.string(), is_checkpoint});
  };
  auto add_with_part = [&](const std::string& option, const std::string& path, bool is_checkpoint) {
    add(option, path, is_checkpoint);
    if (!path.empty()) add(text("the unfinished ", option), path + ".part");
  };
  add(operand.what, operand.path, operand.is_checkpoint);
  add("--model_file", options.model_file, true);
  add_with_part("-s", options.save_path, true);
  add_with_part("-o", options.output_file, false);
  add("-l", options.log_file);
  for (size_t i = 0; i < files.size(); ++i)
    for (size_t j = i + 1; j < files.size(); ++j)
      if (files[i].path == files[j].path && !(files[i].is_checkpoint && files[j].is_checkpoint))
        fail(ErrorKind::config, files[i].what, " and ", files[j].what, " are the same file; give each its own");
}

// As in neon 1.x, who says how checkpoints are kept wants some.
void name_checkpoint(RunOptions& options, const CommandLine& line) {
  if (!options.save_path.empty()) return;
  for (const char* option : {"serialize", "history"}) {
    if (!line.run_options.find(option)) continue;
    options.save_path = "neon_model.safetensors";
    std::fprintf(stderr, "warning: --%s without -s: checkpoints go to %s\n", option, options.save_path.c_str());
    return;
  }
}

// The last lines of a run: what came out, how long it took, what was written, what to try next.
int report(const RunResult& result, const Experiment& experiment, const Data& data, const RunOptions& options,
           const CommandLine& line, const std::string& again) {
  const char* program = line.program.c_str();
  const Position& at = result.position;
  if (result.signal) {
    std::printf("stopped by signal %d in epoch %lld, step %lld\n", result.signal, (long long)at.epoch + 1,
                (long long)at.step_in_epoch);
  } else {
    if (!result.results.empty())
      std::printf("test: %s  (%s)\n", results_text(result.results, experiment).c_str(), data.source.c_str());
    const bool fixed_seed = options.deterministic && !options.rng_seed;
    std::printf("trained %lld epochs in %s, seed %llu%s\n", (long long)at.epoch, duration_text(at.seconds).c_str(),
                (unsigned long long)at.seed, fixed_seed ? " (that of --deterministic; -r N takes another)" : "");
  }
  if (at.skipped) std::printf("skipped %lld steps that overflowed\n", (long long)at.skipped);
  for (const std::string& file : result.files) std::printf("wrote %s\n", file.c_str());
  const char* save = options.save_path.c_str();
  if (result.signal && *save) std::printf("next: %s resume %s\n", program, save);
  else if (*save) std::printf("next: %s eval %s\n", program, save);
  else std::printf("next: %s %s -s model.safetensors -o run.h5\n", program, again.c_str());
  return result.signal ? 128 + result.signal : 0;
}

}  // namespace

int run_train(const CommandLine& line) {
  const std::string& path = only_operand(line, "neon [OPTIONS] SPEC");
  RunOptions options = line.run();
  const OpenedSpec spec = open_spec(line, path);
  name_checkpoint(options, line);
  check_files_differ(options, {"the spec", path, false});
  choose_backend(options, *spec.experiment);
  options.spec_dir = absolute_folder(spec.folder);
  if (!options.rng_seed) options.rng_seed = spec.experiment->params.rng_seed;
  const Data data = load_data(*spec.experiment, options, options.spec_dir);
  Trainer trainer(*spec.experiment, data, options);
  return report(trainer.run(), *spec.experiment, data, options, line, path);
}

int run_resume(const CommandLine& line) {
  const std::string& path = only_operand(line, "neon resume CHECKPOINT");
  const OpenedRun opened = open_checkpoint(line, path);
  // As the run was, save what is given anew.
  Setting merged = write_params(opened.run.options);
  *merged.find("save_path") = Setting::scalar(path);
  *merged.find("backend") = Setting::scalar("");  // a run may go on where there is another device
  for (const auto& entry : line.run_options.entries) {
    for (const char* fixed : {"batch_size", "datatype", "rng_seed", "rounding", "caffe", "model_file"})
      if (entry.key == fixed)
        fail(ErrorKind::config, "--", fixed, " cannot change when a run goes on; start another with --model_file ",
             path);
    *merged.find(entry.key) = entry.value;
  }
  RunOptions options = read_params<RunOptions>(merged);
  check_files_differ(options, {"the checkpoint", path, true});
  choose_backend(options, *opened.experiment);
  const Data data = load_data(*opened.experiment, options, options.spec_dir, &opened.run, true);
  const Position& at = opened.run.position;
  std::fprintf(stderr, "going on after epoch %lld, step %lld\n", (long long)at.epoch, (long long)at.step_in_epoch);
  const int64_t epochs = options.epochs.value_or(opened.experiment->params.epochs);
  if (at.epoch >= epochs)
    std::fprintf(stderr, "the run has done its %lld epochs; -e N goes on to epoch N\n", (long long)epochs);
  Trainer trainer(*opened.experiment, data, options, &opened.run);
  return report(trainer.run(), *opened.experiment, data, options, line, "resume " + path);
}

}  // namespace neon
