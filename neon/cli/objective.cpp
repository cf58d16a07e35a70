#include "neon/cli/objective.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "neon/cli/session.h"
#include "neon/cli/size_counter.h"
#include "neon/core/message.h"
#include "neon/core/paths.h"
#include "neon/search/trials.h"
#include "neon/train/best_result.h"
#include "neon/train/clock.h"
#include "neon/train/terminal.h"
#include "neon/train/trainer.h"

namespace neon {

namespace {

using Json = nlohmann::ordered_json;

// Throws a config error for a name that no result has.
void check_metric(const std::string& metric, const std::vector<Metric::Result>& results) {
  std::vector<std::string> names = {"cost"};
  for (const Metric::Result& result : results) names.push_back(result.name);
  if (!std::ranges::count(names, metric))
    fail(ErrorKind::config, "option --metric: ", in_quotes(metric), " is not evaluated", did_you_mean(metric, names),
         " (evaluated: ", list_text(names), ")");
}

// Gives an experiment that names no metrics those of its net.
void fit_metrics(Experiment& experiment, const RunOptions& options, const DataCheck& check) {
  const StepOptions step = step_options(options, experiment.params);
  const DataLayout layout = layout_of(check);
  std::vector<StepGraph> graphs;
  for (const TrainedPhase& phase : experiment.phases()) graphs.push_back(training_graph(phase, layout, step));
  experiment.fit(graphs, layout);
}

// Trials are compared by the last phase, which alone has results.
void check_reaches_last_phase(const Experiment& experiment, const RunOptions& options) {
  const TrainedPhase& last = experiment.last_phase();
  const int64_t before = experiment.params.epochs - last.epochs;
  if (options.epochs && *options.epochs <= before && experiment.phases().size() > 1)
    fail(ErrorKind::config, "-e ", *options.epochs, " ends before the last phase, ", last.name,
         ", by which trials are compared; it begins after ", counted(before, "epoch"));
}

[[noreturn]] void fail_without_samples(const std::string& source) {
  fail(ErrorKind::data, source,
       " has neither validation nor test samples to compare trials by; validation: 0.1 in "
       "its data set keeps a share of the training samples");
}

// Settles which result is the objective, and prints it after each evaluation.
class ObjectiveWatch : public Callback {
 public:
  // Without a metric, the result by which `experiment` tells its best net.
  ObjectiveWatch(std::string metric, bool prints, const Experiment& experiment)
      : metric_(std::move(metric)), prints_(prints), experiment_(experiment) {}

  const void* params_address() const override { return nullptr; }
  bool needs_evaluation() const override { return prints_; }
  std::string subject() const override { return "objective"; }

  void plan(RunPlan& plan) override {
    if (metric_.empty()) metric_ = name_of_best(experiment_);
    epochs_ = plan.epochs;
    check_metric(metric_, plan.results);
    for (const Metric::Result& result : plan.results)
      if (result.name == metric_) rises_ = result.better == Metric::Better::higher;
  }

  void epoch_end(EpochEnd& end) override {
    epoch_ = end.epoch;
    if (end.results.empty() || !prints_) return;
    Json line = {{"epoch", end.epoch}, {"of", epochs_}};
    add_to(line, end.results);
    print_record(line.dump());
    flush_results();
  }

  void add_to(Json& line, const std::map<std::string, double>& results) const {
    line["set"] = set_;
    line["metric"] = metric_;
    line["better"] = rises_ ? "higher" : "lower";
    const auto found = results.find(metric_);
    line["objective"] = found != results.end() && std::isfinite(found->second) ? Json(found->second) : Json();
    const auto cost = results.find("cost");  // which decides between trials of equal objectives
    if (metric_ != "cost" && cost != results.end() && std::isfinite(cost->second)) line["cost"] = cost->second;
  }
  int64_t epoch() const { return epoch_; }
  void of_set(const std::string& name) { set_ = name; }

 private:
  std::string metric_, set_;
  const bool prints_;
  const Experiment& experiment_;
  bool rises_ = false;
  int64_t epoch_ = 0, epochs_ = 0;
};

void check_values(const CommandLine& line, const OpenedSpec& spec) {
  if (spec.unset.empty()) return;
  std::vector<std::string> names;
  for (const SearchRange& range : spec.unset) names.push_back(range.name);
  fail(ErrorKind::config, line.operands.front(), ": --objective trains one trial, and has no value for ",
       list_text(names), "; give ", names.size() > 1 ? "each" : "it", " with --value NAME=VALUE");
}

// The trial; `watch` sees its evaluations.
RunResult train_trial(const CommandLine& line, const OpenedSpec& spec, const std::shared_ptr<ObjectiveWatch>& watch,
                      const std::shared_ptr<SizeCounter>& counter, double& bytes) {
  RunOptions options = options_of(line, spec);
  options.save_path.clear(), options.output_file.clear(), options.log_file.clear();  // of a file of neon 0.9
  options.progress_bar = false;
  const bool asked = choose_backend(line, options, *spec.experiment);
  const auto waking = wake_gpu(options, *spec.experiment);
  options.spec_dir = spec.folder;
  options.run_dir = current_dir();
  check_reaches_last_phase(*spec.experiment, options);
  if (!options.rng_seed) options.rng_seed = spec.experiment->params.rng_seed;
  const Data data = load_data(*spec.experiment, options, options.spec_dir);
  const EvaluatedSet set = set_during_training(data);
  if (set.split.size() == 0) fail_without_samples(data.source);
  watch->of_set(set.name);
  spec.experiment->params.callbacks.push_back(Made<Callback>(watch));
  if (counter) spec.experiment->params.callbacks.push_back(Made<Callback>(counter));
  const auto trainer = spec.experiment->placing([&] {
    return on_device_or_cpu(options, asked, [&] { return std::make_unique<Trainer>(*spec.experiment, data, options); });
  });
  bytes = double(trainer->steps().program().lowered().arena_bytes);
  for (const auto& [name, tensor] : trainer->variables().all()) bytes += double(tensor.bytes());
  return trainer->run();
}

}  // namespace

void check_objective(const OpenedSpec& spec, const RunOptions& options, const std::string& metric) {
  Experiment& experiment = *spec.experiment;
  check_reaches_last_phase(experiment, options);
  const DataCheck check = check_data(experiment, options, spec.folder);
  if (!check.found && check.source.empty() && check.command.empty())
    fail(ErrorKind::data, check.missing, ": no such file; no trial would find its data set");
  if (check.found && check.validation_size + check.test_size == 0) fail_without_samples(check.source);
  if (metric.empty() || !check.found) return;
  try {
    fit_metrics(experiment, options, check);
  } catch (const Error&) {
    return;  // of a net that its own values make impossible
  }
  check_metric(metric, experiment.results());
}

int run_objective(const CommandLine& line) {
  const OpenedSpec spec = open_spec(line, only_operand(line));
  if (line.verb != "formats") check_values(line, spec);  // formats take the middle of a range, as every run does
  const double began = now_seconds();
  const auto watch = std::make_shared<ObjectiveWatch>(line.of_verb.metric, line.of_verb.curve, *spec.experiment);
  const auto counter = line.verb == "formats" ? std::make_shared<SizeCounter>() : nullptr;
  double bytes = 0;
  Json out;
  const auto finish = [&] {
    out["values"] = json_of(values_of(line));
    out["seconds"] = std::round((now_seconds() - began) * 1000) / 1000;
    print_record(out.dump(-1, ' ', false, Json::error_handler_t::replace));
  };
  try {
    const RunResult result = train_trial(line, spec, watch, counter, bytes);
    out["status"] = result.signal ? "stopped" : "done";
    watch->add_to(out, result.results);
    out["epochs"] = result.position.epoch;
    out["seed"] = result.position.seed;
    out["training_seconds"] = result.position.seconds;
    out["bytes"] = bytes;
    out["skipped"] = result.position.skipped;
    if (counter) out["loss_scale"] = result.position.loss_scale, out["sizes"] = counter->json();
    finish();
    return result.signal ? 128 + result.signal : 0;
  } catch (const Error& error) {
    out["status"] = error.kind() == ErrorKind::diverged ? "diverged" : "failed";
    out["cause"] = error.what();
    if (error.kind() == ErrorKind::config) out["kind"] = "config";
    out["epochs"] = watch->epoch();
    finish();
    throw;
  }
}

}  // namespace neon
