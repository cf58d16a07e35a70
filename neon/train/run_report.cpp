#include "neon/train/run_report.h"

#include <algorithm>

#include "neon/core/free_memory.h"
#include "neon/core/paths.h"
#include "neon/core/version.h"
#include "neon/train/batch_feed.h"
#include "neon/train/best_result.h"
#include "neon/train/clock.h"
#include "neon/train/evaluator.h"
#include "neon/train/run_folder.h"

namespace neon {

namespace {

// Bytes of this process, or of the GPU that it computes on.
double memory_taken(const RunSetup& setup) {
  std::string why_not;
  return setup.gpu ? double(gpu_module(why_not)->peak_bytes(int(setup.options.device_id))) : resident_memory();
}

}  // namespace

RunReport::RunReport(const RunSetup& setup)
    : setup_(setup), line_(setup.options.progress_bar, setup.options.log_file) {}

void RunReport::messages(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) message(line);
}

void RunReport::message_once(const std::string& line) {
  if (printed_once_.insert(line).second) message(line);
}

void RunReport::log_settings(uint64_t seed) {
  log(text("neon ", version(), ", seed ", seed));
  log("options: " + write_params(setup_.options).to_string());
  log("spec: " + setup_.experiment.resolved(setup_.options).to_string());
}

void RunReport::open_metrics_file(RunPlan& plan, int64_t eval_freq, const Position& position) {
  const WorkAlone alone(setup_.ranks);
  log_ = std::make_unique<RunLog>(setup_.options, setup_.experiment, plan, eval_freq, position);
}

void RunReport::open_results(const std::string& set, const Position& position) {
  const WorkAlone alone(setup_.ranks);
  results_ = std::make_unique<ResultsTable>(join_path(setup_.options.run_folder, kResultsFile), setup_.experiment, set,
                                            position);
  if (!results_->damage().empty()) message(results_->damage());
}

void RunReport::close_metrics_file(RunStatus status) {
  const WorkAlone alone(setup_.ranks);
  if (const std::string warning = results_ ? results_->flush() : ""; !warning.empty()) message(warning);
  if (log_) log_->close(status);
}

void RunReport::flush_metrics_file() {
  if (!log_) return;
  const WorkAlone alone(setup_.ranks);
  log_->flush();
}

void RunReport::take_metrics_messages() {
  if (log_) messages(log_->take_messages());
}

void RunReport::Clock::read(double waited) {
  took = now_seconds() - started;
  share_waiting = took > 0 ? (waited - waited_before) / took : 0;
}

void RunReport::begin_steps(const Position& position, double waited) {
  clock_ = {};
  clock_.started = now_seconds();
  clock_.waited_before = waited;
  clock_.first_step = position.step;
}

void RunReport::step(int64_t step, double cost) {
  if (log_) log_->step(step, cost);
  if (log_ && log_->flush_due()) flush_metrics_file();
  recent_cost_ = recent_cost_ ? 0.9 * *recent_cost_ + 0.1 * cost : cost;
}

void RunReport::player(int64_t step, double cost) {
  if (log_) log_->player(step, cost);
}

namespace {

// Training samples of so many steps from the begin of a run; the last batch of an epoch may be short.
int64_t samples_before(const RunSetup& setup, int64_t step) {
  const int64_t each = setup.steps_per_epoch, size = setup.layout.train_size;
  return step / each * size + std::min(step % each * setup.step.batch, size);
}

}  // namespace

ProgressState RunReport::state_of(const Position& position, double cost) const {
  ProgressState state;
  state.epochs = setup_.epochs;
  state.cost = cost;
  state.skipped = position.skipped;
  const auto samples = double(samples_before(setup_, position.step) - samples_before(setup_, clock_.first_step));
  state.samples_per_second = clock_.took > 0 ? samples / clock_.took : 0;
  state.waiting = clock_.share_waiting;
  return state;
}

void RunReport::progress(const Position& position, double waited) {
  clock_.read(waited);
  if (!line_.due()) return;
  ProgressState state = state_of(position, recent_cost_.value_or(0));
  if (position.best)
    state.best = text("best ", best_text(position, setup_.experiment, set_during_training(setup_.data).name));
  state.memory = memory_taken(setup_);
  state.epoch = position.epoch + 1;
  state.phase = setup_.phase_after(position.epoch).phase->name;
  state.step = position.step_in_epoch;
  state.steps = setup_.steps_per_epoch;
  const double done = double(position.step - clock_.first_step);
  const double left = double(setup_.epochs * setup_.steps_per_epoch - position.step);
  state.seconds_left = done > 0 ? clock_.took / done * left : 0;
  line_.step(state);
}

double RunReport::end_steps(double waited) {
  clock_.read(waited);
  return clock_.took;
}

void RunReport::evaluation(int64_t epoch, const std::map<std::string, double>& results, double seconds) {
  if (log_) log_->evaluation(epoch, results, seconds);
}

void RunReport::epoch_metrics(const Position& position, const MeanCosts& costs, double rate,
                              const std::map<std::string, double>& results) {
  if (log_) log_->epoch(position, costs, rate, position.epoch_seconds);
  if (!results_) return;
  const WorkAlone alone(setup_.ranks);
  if (const std::string warning = results_->add(position, costs, rate, position.epoch_seconds, results);
      !warning.empty())
    message(warning);
}

void RunReport::epoch_line(const Position& position, const MeanCosts& costs, const std::string& results) {
  ProgressState state = state_of(position, costs.all);
  const OutputSpecs& outputs = setup_.experiment.params.outputs;
  for (size_t i = 0; i < std::min(outputs.size(), costs.outputs.size()); ++i)
    state.output_costs += text(i ? ", " : "", outputs[i].first, " ", cost_text(costs.outputs[i]));
  state.epoch = position.epoch;
  state.phase = setup_.phase_after(position.epoch - 1).phase->name;
  line_.epoch(state, results);
}

void RunReport::left_out() {
  const auto lines = left_out_messages(setup_.data);
  for (const std::string& line : lines)
    if (!std::ranges::count(left_out_, line)) message(line);
  left_out_ = lines;
}

}  // namespace neon
