#include "neon/train/run_log.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "neon/core/version.h"
#include "neon/spec/yaml.h"
#include "neon/train/result_names.h"

namespace neon {

namespace {

double unix_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

bool has_players(const Experiment& experiment) {
  return std::ranges::any_of(experiment.phases(), [](const TrainedPhase& phase) {
    return phase.source.rule && phase.source.rule->players() > 1;
  });
}

// "first 5, second 10": the phases and their epochs.
std::string phases_text(const Experiment& experiment) {
  std::vector<std::string> out;
  for (const TrainedPhase& phase : experiment.phases()) out.push_back(text(phase.name, " ", phase.epochs));
  return join(out, ", ");
}

// HDF5 takes names that are not UTF-8 for UTF-8.
std::string options_text(const RunOptions& options) {
  Setting out = write_params(options);
  for (auto& [key, value, where] : out.entries)
    if (!is_utf8(value.value)) value.value = printable(value.value);
  return write_yaml(out);
}

// Epochs between the points of evaluations, one of which follows each phase, too: a point where none was stays NaN.
int64_t evaluation_grid(const Experiment& experiment, int64_t eval_freq, int64_t epochs) {
  int64_t out = std::gcd(eval_freq, epochs), end = 0;
  for (const TrainedPhase& phase : experiment.phases())
    if (&phase != &experiment.last_phase()) out = std::gcd(out, std::min(end += phase.epochs, epochs));
  return out;
}

}  // namespace

RunLog::RunLog(const RunOptions& options, const Experiment& experiment, RunPlan& plan, int64_t eval_freq,
               const Position& position)
    : evaluation_grid_(evaluation_grid(experiment, eval_freq, plan.epochs)) {
  std::vector<SeriesSpec> series = std::move(plan.series);
  auto add = [&](std::string name, int64_t length, DType dtype, std::string units, std::string x, std::string markers) {
    SeriesSpec spec;
    spec.path = std::move(name);
    spec.length = length;
    spec.dtype = dtype;
    spec.units = std::move(units);
    spec.x = std::move(x);
    spec.time_markers = std::move(markers);
    spec.epoch_freq = spec.time_markers == "epoch_freq" ? evaluation_grid_ : 1;
    series.push_back(std::move(spec));
  };
  const int64_t evaluations = plan.epochs / evaluation_grid_;
  add("cost/train", plan.epochs * plan.steps_per_epoch, DType::f32, "", "minibatch", "minibatch");
  if (has_players(experiment))
    add("cost/generator", plan.epochs * plan.steps_per_epoch, DType::f32, "", "minibatch", "minibatch");
  add("time_markers/minibatch", plan.epochs, DType::f32, "minibatches", "epoch", "");
  add("epoch/cost", plan.epochs, DType::f64, "", "epoch", "");
  for (const auto& [name, output] : experiment.params.outputs) {
    output_costs_.push_back("epoch/" + name + ".cost");
    add(output_costs_.back(), plan.epochs, DType::f64, "", "epoch", "");
  }
  add("epoch/learning_rate", plan.epochs, DType::f64, "", "epoch", "");
  add("epoch/loss_scale", plan.epochs, DType::f64, "", "epoch", "");
  add("epoch/skipped_steps", plan.epochs, DType::f64, "steps", "epoch", "");
  add("time/epoch", plan.epochs, DType::f64, "seconds", "epoch", "");
  if (evaluations > 0) {
    add("cost/loss", evaluations, DType::f32, "", "epoch", "epoch_freq");
    add("time/loss", evaluations, DType::f32, "seconds", "epoch", "epoch_freq");
    for (const std::string& name : reported_names(experiment))
      add("metrics/" + name, evaluations, DType::f32, "", "epoch", "epoch_freq");
  }
  add("time/train/start_time", 1, DType::f64, "seconds", "", "");
  add("time/train/end_time", 1, DType::f64, "seconds", "", "");
  const int64_t minibatches = plan.epochs * plan.steps_per_epoch;
  std::vector<AttributeSpec> attributes = {{"config", "total_epochs", plan.epochs},
                                           {"config", "total_minibatches", minibatches},
                                           {"time_markers", "epochs_complete", position.epoch},
                                           {"time_markers", "minibatches_complete", position.step},
                                           {"", "spec", write_yaml(experiment.resolved(options))},
                                           {"", "options", options_text(options)},
                                           {"", "seed", std::to_string(position.seed)},
                                           {"", "version", std::string(version())}};
  if (experiment.phases().size() > 1) attributes.push_back({"config", "phases", phases_text(experiment)});
  attributes.insert(attributes.end(), plan.attributes.begin(), plan.attributes.end());
  // An epoch whose steps are done has its points of the last step, though its evaluation was cut short.
  const bool steps_done = plan.steps_per_epoch > 0 && position.step_in_epoch >= plan.steps_per_epoch;
  MetricsFile::History history{options.output_file, position.step, position.epoch + (steps_done ? 1 : 0)};
  const bool goes_on = position.step > 0;
  file_ = std::make_unique<MetricsFile>(options.output_file, std::move(series), std::move(attributes),
                                        goes_on ? &history : nullptr);
  if (!goes_on) file_->set("time/train/start_time", 0, unix_seconds());
  file_->flush();
}

void RunLog::step(int64_t step, double cost) { file_->set("cost/train", step, cost); }

void RunLog::player(int64_t step, double cost) { file_->set("cost/generator", step, cost); }

void RunLog::epoch(const Position& position, const MeanCosts& costs, double rate, double seconds) {
  const int64_t index = position.epoch - 1;
  file_->set("time_markers/minibatch", index, double(position.step));
  file_->set("epoch/cost", index, costs.all);
  for (size_t i = 0; i < std::min(output_costs_.size(), costs.outputs.size()); ++i)
    file_->set(output_costs_[i], index, costs.outputs[i]);
  file_->set("epoch/learning_rate", index, rate);
  file_->set("epoch/loss_scale", index, position.loss_scale);
  file_->set("epoch/skipped_steps", index, double(position.skipped));
  file_->set("time/epoch", index, seconds);
  file_->set_attribute("time_markers", "epochs_complete", double(position.epoch));
  file_->set_attribute("time_markers", "minibatches_complete", double(position.step));
}

void RunLog::evaluation(int64_t epoch, const std::map<std::string, double>& results, double seconds) {
  if (epoch % evaluation_grid_) return;
  const int64_t index = epoch / evaluation_grid_ - 1;
  for (const auto& [name, value] : results) file_->set(name == "cost" ? "cost/loss" : "metrics/" + name, index, value);
  file_->set("time/loss", index, seconds);
}

void RunLog::close(RunStatus status) {
  file_->set("time/train/end_time", 0, unix_seconds());
  file_->close(status);
}

}  // namespace neon
