// neon eval CHECKPOINT [DATA]: cost and metrics of stored weights on the test set, or, where it is empty, on the
// validation samples, or on all of DATA; and what the net gets right and wrong.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "models/guided_graph.h"
#include "neon/cli/evaluated_data.h"
#include "neon/cli/heeded_parts.h"
#include "neon/cli/kept_outcome.h"
#include "neon/cli/kept_parameters.h"
#include "neon/cli/outcome_sheet.h"
#include "neon/cli/read_places.h"
#include "neon/cli/run_evaluation.h"
#include "neon/cli/run_place.h"
#include "neon/cli/sample_sheet.h"
#include "neon/cli/shown_samples.h"
#include "neon/cli/slow_note.h"
#include "neon/cli/stored_places.h"
#include "neon/cli/untrained_phase.h"
#include "neon/cli/verb.h"
#include "neon/core/counted.h"
#include "neon/core/paths.h"
#include "neon/report/net_nodes.h"
#include "neon/train/atomic_file.h"
#include "neon/train/csv_text.h"
#include "neon/train/evaluator.h"
#include "neon/train/feature_maps.h"
#include "neon/train/fingerprint.h"
#include "neon/train/gpu_room.h"
#include "neon/train/lost_steps.h"
#include "neon/train/run_folder.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

// An evaluation of other samples is no mistake, but its numbers cannot be compared with the run's.
void note_other_set(const EvaluatedSet& set, const Data& data, const std::string& of_run) {
  const std::string then = part_of(of_run, set.name), now = fingerprint(set.split, set.name, data);
  if (set.split.size() > 0 && !then.empty() && !same_data(then, now))
    print_message(text("note: the ", set.name, " set is not the run's: then ", then, ", now ", now));
}

// The data of another place, whose table may have no targets.
Data load_evaluated(const Experiment& experiment, const RunOptions& options, const FormerRun& former,
                    const std::string& other) {
  try {
    return load_data(experiment, options, options.spec_dir, &former);
  } catch (const Error& error) {
    const std::string_view said = error.what();
    const bool lacks_target = said.find("target: ") != said.npos || said.find("targets: ") != said.npos;
    if (other.empty() || !lacks_target || said.find(" has no column ") == said.npos) throw;
    fail(error.kind(), said, "; neon predict ", shell_word(former.run.file.path), " ", shell_word(other),
         " prints outputs without targets");
  }
}

// The samples that are evaluated: those of the run at its end, or all of another place.
EvaluatedSet evaluated_set(const Data& data, const std::string& other) {
  if (other.empty()) return set_at_end(data);
  if (data.test.size() > 0 && data.train.size() > 0)
    print_message(text("note: ", other, " has ", data.train.size(), " training and ", data.test.size(),
                       " test samples; the test samples are evaluated"));
  return {data.test.size() > 0 ? data.test : data.train, "data"};
}

// The set of the run's own data.
void check_own_set(const OpenedRun& opened, const Data& data, const EvaluatedSet& set) {
  if (data.test.size() > 0) check_split_heeded(opened);
  note_other_set(set, data, opened.run.position.data);
}

// Refuses options that need the outputs of single samples, before an evaluation that does not keep them.
void check_kept(const CommandLine& line, const KeptOutcome& kept) {
  if (line.of_verb.report && !kept.has_report())
    fail(ErrorKind::config,
         "option --report: it compares up to 16 million outputs with the classes or values of samples, or counts the "
         "classes of pixels or steps; this evaluation has none of these, or more outputs. Leave the option out");
  if (!line.of_verb.sheet.empty() && !kept.has_samples())
    fail(ErrorKind::config, "option --sheet: it shows the worst samples, and a rule has no cost of each; leave it out");
}

// Prints what was left out of the data, and why a metric has no value.
void print_notes(const Data& data, const Experiment& experiment, const std::map<std::string, double>& results) {
  for (const std::string& message : left_out_messages(data)) print_message(message);
  for (const auto& [name, why] : undefined_results(results, experiment, "these samples")) print_message("note: " + why);
}

void print_row(const std::map<std::string, double>& results) {
  std::vector<std::string> names, numbers;
  for (const auto& [name, value] : results) names.push_back(name), numbers.push_back(number(value));
  print_record(csv_record(names));
  print_record(csv_record(numbers));
}

// The results of an evaluation, in the form that the command line asks for; `text_line` has them for people.
void print_results(const CommandLine& line, const std::vector<TargetOutcome>& targets,
                   const std::map<std::string, double>& results, const std::string& text_line) {
  const bool asked = line.of_verb.report;
  if (line.of_verb.format == "json") {
    nlohmann::json out(results);
    if (asked) out["report"] = reports_json(targets);
    return print_record(out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  if (line.of_verb.format == "csv") return asked ? print_report_table(targets) : print_row(results);
  print_result(text_line);
  print_reports(targets);
}

// Draws the samples that the net is worst at, and prints a line for each, in the order of the sheet.
void write_worst(const CommandLine& line, const OpenedRun& opened, const std::string& path, const RunOptions& options,
                 const Data& data, const KeptOutcome& kept, const KeptOutcome::Sums& sums) {
  if (line.of_verb.sheet.empty()) return;
  const ShownSamples shown(kept, data, opened.experiment->params.outputs, sums);
  if (!shown.complete())
    fail(ErrorKind::config, "option --sheet: bad samples were left out, so the worst cannot be found; leave it out");
  const auto worst = shown.worst(line.of_verb.count.value_or(kSheetImages));
  OutcomeSheets sheets(line, opened, path, options, data);
  sheets.write(kept.split(), worst, line.of_verb.sheet);
  print_message(text("wrote ", line.of_verb.sheet, ": the ", worst.size(), " worst samples, row by row",
                     sheets.beside().empty() ? "" : text(", and beside each ", sheets.beside())));
  for (const int64_t sample : worst) print_message(text("  ", shown.line(sample)));
}

// The checkpoint, and the place that is to be evaluated; "" for the run's own test set.
struct EvalOperands {
  std::string checkpoint, data;
};
EvalOperands eval_operands(const CommandLine& line) {
  if (line.operands.size() < 2) return {checkpoint_operand(line, kNetFiles), ""};
  const std::string usage = text("; usage: ", usage_of(*find_verb(line.verb)));
  if (line.operands.size() > 2)
    fail(ErrorKind::config, in_quotes(line.operands[2]), " is one operand too many after ", in_quotes(line.operands[1]),
         usage);
  for (const std::string& operand : line.operands)
    if (operand.empty()) fail(ErrorKind::config, "an operand is empty", usage);
  return {checkpoint_at(line.operands[0], kNetFiles), line.operands[1]};
}

RunOptions options_without_updates(const CommandLine& line, const OpenedRun& opened) {
  check_heeded(line.verb, opened);
  RunOptions out = options_of(line, opened);
  check_spares_image("--sheet", line.of_verb.sheet, {*opened.experiment, out});
  out.rounding = 0;
  return out;
}

StepOptions evaluated_step(const RunOptions& options, const OpenedRun& opened) {
  StepOptions out = step_options(options, opened.experiment->params);
  out.seed = opened.run.position.seed;  // a generator is judged by the noise that the run's evaluations drew
  return out;
}

void check_parts_heeded(const CommandLine& line, const OpenedRun& opened, const DataLayout& layout,
                        const EvaluatedSet& set, const StepOptions& step) {
  check_graph_heeded(line.verb, opened, [&](const Experiment& of) {
    return evaluation_graph(of.last_phase(), of.metrics(), layout, set.split.size(), step).graph;
  });
}

void warn_of_lost_steps(const Experiment& experiment, const DataLayout& layout, const StepOptions& step,
                        const EvaluatedSet& set) {
  for (const auto& text_of : {lost_steps_text, misfits_text})
    if (const std::string said = text_of(experiment.last_phase(), layout, step, set, false); !said.empty())
      print_message(said);
}

int run_eval(const CommandLine& given) {
  const auto [path, other] = eval_operands(given);
  const CommandLine line = other.empty() ? given : line_for_data(given, open_checkpoint(given, path), other);
  const OpenedRun opened = open_checkpoint(line, path);
  check_caffe(line, opened, path);
  check_sheet_options(line);
  if (!line.of_verb.sheet.empty()) check_sheet(line.of_verb.sheet, opened.run.meaning, line.of_verb.overwrite);
  const TensorFile weights = sound_weights(opened, path);
  RunOptions options = options_without_updates(line, opened);
  const Experiment& experiment = *opened.experiment;
  const bool asked = choose_backend(line, options, experiment);
  const auto waking = wake_gpu(options, experiment);
  const FormerRun former{opened.run, false, may_fetch(line, options), read_limits(line, opened, path), !other.empty()};
  const Data data = load_evaluated(experiment, options, former, other);
  warn_of_untrained_phase(experiment, opened.run.position, path);
  if (!other.empty()) check_columns(data, opened.run.meaning, other);
  const EvaluatedSet set = evaluated_set(data, other);
  if (other.empty()) check_own_set(opened, data, set);
  if (set.split.size() == 0) fail(ErrorKind::data, "the data set has no test samples to evaluate on");
  const DataLayout layout = layout_of(data);
  const KeptOutcome kept(experiment, data, set, !line.of_verb.sheet.empty());
  check_kept(line, kept);
  Variables variables;
  const StepOptions step = evaluated_step(options, opened);
  check_parts_heeded(line, opened, layout, set, step);
  warn_of_lost_steps(experiment, layout, step, set);
  // Declares the variables; their values come from the file.
  const auto evaluator = on_device_or_cpu(options, asked, [&] {
    const DeviceOptions device = device_options(options, experiment);
    const auto bytes = [&](int64_t batch) {
      StepOptions smaller = step;
      smaller.batch = batch;
      GpuNeeds needs(with_sequences(device));
      needs.add_evaluation(experiment, layout, set.split, smaller, true);
      return needs.bytes();
    };
    const auto let_go = [&] { variables = {}; };
    let_go();
    return telling_room(device,
                        [&] {
                          return std::make_unique<Evaluator>(experiment, layout, set, step, variables, false, device,
                                                             kept.metrics());
                        },
                        let_go, {.what = "Batches", .samples = std::min(step.batch, set.split.size()), .bytes = bytes});
  });
  restore_variables(weights, path, variables, true);
  variables.to_device();
  const auto results = [&] {
    const SlowNote note("evaluating ...");
    return evaluator->run();
  }();
  print_notes(data, experiment, results);
  print_results(line, kept.targets(data, experiment.params.outputs, evaluator->kept()), results,
                text(set.name, ": ", results_text(results, experiment, set.name), "  (", data.source_of(set.name), ", ",
                     counted(evaluator->samples_counted(), "sample"), ")"));
  write_worst(line, opened, path, options, data, kept, evaluator->kept());
  if (!std::isfinite(results.at("cost")))
    fail(ErrorKind::diverged, path, ": the cost on the ", set.name, " set is ", not_finite_words(results.at("cost")));
  return 0;
}

// Draws sheets of the first convolutions, for a page about a checkpoint.
std::vector<std::string> write_guided(const Experiment& experiment, const Data& data, const RunOptions& options,
                                      const EvaluatedSet& set, Variables& variables, const std::string& folder) {
  constexpr size_t kMostLayers = 4;
  constexpr int64_t kMaps = 16, kSamples = 2000;
  const StepOptions step = step_options(options, experiment.params);
  const DataLayout layout = layout_of(data);
  std::vector<std::string> layers = convolutions_of(describe_net(experiment.last_phase(), layout, step).parameters);
  if (layers.empty() || !data.is_image()) return {};
  layers.resize(std::min(layers.size(), kMostLayers));
  const double percent = std::min(100.0, 100.0 * kSamples / double(set.split.size()));
  variables.to_host();
  std::vector<std::string> said =
      write_feature_maps({experiment.network(), step, layout, set}, layers, {kMaps, percent}, variables, folder);
  std::erase_if(said, [](const std::string& line) { return !line.starts_with("warning"); });
  return said;
}

// Whether there is anything to write about single samples or classes.
bool has_evaluation(const Experiment& experiment, const Data& data, const EvaluatedSet& set) {
  const KeptOutcome kept(experiment, data, set, true);
  return experiment.cost() && (kept.has_report() || kept.has_samples());
}

// Writes eval.json and its sheets into the folder. Without `guided` returns nothing; otherwise sheets of guided
// backpropagation are written, too, and warnings are returned.
std::vector<std::string> write_evaluation(const CommandLine& line, const std::string& checkpoint,
                                          const OpenedRun& opened, const Experiment& experiment, const Data& data,
                                          const RunOptions& options, const std::string& folder, bool guided) {
  const EvaluatedSet set = set_at_end(data);
  const KeptOutcome kept(experiment, data, set, true);
  Variables variables;
  const SlowNote note(text("evaluating ", checkpoint, " ..."));
  Evaluator evaluator(experiment, layout_of(data), set, step_options(options, experiment.params), variables, false,
                      device_options(options, experiment), kept.metrics());
  restore_variables(sound_weights(opened, checkpoint), checkpoint, variables, true);
  variables.to_device();
  const auto results = evaluator.run();
  if (results.empty()) return {};  // a signal came
  const ShownSamples shown(kept, data, experiment.params.outputs, evaluator.kept());
  nlohmann::json out = {{"checkpoint", file_name_of(checkpoint)},
                        {"set", set.name},
                        {"samples", evaluator.samples_counted()},
                        {"results", results}};
  if (kept.has_report()) out["report"] = reports_json(kept.targets(data, experiment.params.outputs, evaluator.kept()));
  if (shown.complete()) {
    const bool pictures = data.is_image() && (data.sample[0] == 1 || data.sample[0] == 3);
    OutcomeSheets sheets(line, opened, checkpoint, options, data);
    const auto add = [&](const char* key, const std::vector<int64_t>& samples, const char* file) {
      out[key] = shown.json(samples);
      if (!pictures) return;
      const Shape cell = sheets.write(set.split, samples, join_path(folder, file));
      out["cell"] = {cell[0], cell[1]};
      if (!sheets.beside().empty()) out["beside"] = sheets.beside();
    };
    add("worst", shown.worst(kSheetImages), kWorstFile);
    add("predictions", shown.spread(kSheetImages / 2), kPredictionsFile);
  }
  const std::string content = out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  AtomicFile file(join_path(folder, kEvaluationFile));
  file.write(content.data(), content.size());
  file.commit();
  return guided ? write_guided(experiment, data, options, set, variables, folder) : std::vector<std::string>();
}

}  // namespace

std::string checkpoint_to_evaluate(const RunOptions& options) {
  std::error_code ignored;
  const std::string best = options.run_folder.empty() ? "" : join_path(options.run_folder, kBestFile);
  for (const std::string& path : {best, options.save_path})
    if (!path.empty() && std::filesystem::exists(path, ignored)) return path;
  return "";
}

std::string write_run_evaluation(const CommandLine& line, const Experiment& experiment, const Data& data,
                                 const RunOptions& options) {
  const EvaluatedSet set = set_at_end(data);
  if (options.run_folder.empty() || set.split.size() == 0 || !has_evaluation(experiment, data, set)) return "";
  const std::string path = checkpoint_to_evaluate(options);
  if (path.empty()) return "";
  try {
    CommandLine plain = line;  // the checkpoint has what was set
    plain.overrides.clear();
    const OpenedRun opened = open_checkpoint(plain, path);
    if (const std::string said = untrained_phase(experiment, opened.run.position, path); !said.empty())
      return text("note: no ", kEvaluationFile, ": ", said);
    RunOptions without_updates = options;
    without_updates.rounding = 0;
    write_evaluation(plain, path, opened, experiment, data, without_updates, options.run_folder, false);
    return "";
  } catch (const Error& error) {
    return text("warning: no ", kEvaluationFile, ": ", error.what());
  }
}

std::vector<std::string> write_checkpoint_evaluation(const CommandLine& line, const std::string& path,
                                                     const std::string& folder) {
  try {
    const OpenedRun opened = open_checkpoint(line, path);
    if (const std::string said = untrained_phase(*opened.experiment, opened.run.position, path); !said.empty())
      return {text("note: ", path, ": no evaluation: ", said)};
    RunOptions options = options_of(line, opened);
    options.rounding = 0;
    choose_backend(line, options, *opened.experiment);
    const FormerRun former{opened.run, false, may_fetch(line, options), read_limits(line, opened, path)};
    const Data data = load_data(*opened.experiment, options, options.spec_dir, &former);
    const EvaluatedSet set = set_at_end(data);
    if (set.split.size() == 0 || !has_evaluation(*opened.experiment, data, set))
      return {text("note: ", path,
                   ": no evaluation: it has no test samples, or its outputs are not compared one by one ",
                   "with classes or values")};
    return write_evaluation(line, path, opened, *opened.experiment, data, options, folder, true);
  } catch (const Error& error) {
    return {text("warning: ", path, ": no evaluation: ", error.what())};
  }
}

NEON_VERB(
    run_eval, "eval", 70, takes_device | takes_data | computes, "[CHECKPOINT [DATA]]",
    "print the cost and metrics of a checkpoint, and what it gets right and wrong, on the test set or on all of DATA");

}  // namespace neon
