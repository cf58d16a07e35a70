#include <algorithm>
#include <cmath>

#include "neon/core/version.h"
#include "neon/train/checkpoint.h"
#include "neon/train/clock.h"
#include "neon/train/signals.h"
#include "neon/train/trainer.h"

namespace neon {

void Trainer::open_files() {
  // Evaluating is a forward pass, about a third of a step: worth it every epoch below a tenth of the time.
  const EvaluatedSet evaluated = set_during_training(data_);
  const bool cheap = !evaluator_ || double(evaluator_->samples_passed()) < 0.3 * double(layout_.train_size);
  bool needed = false;
  for (const auto& callback : experiment_.params.callbacks) needed = needed || callback->needs_evaluation();
  // Kept in the checkpoint: a run that goes on to other epochs is evaluated as before, or its curves would not fit.
  std::vector<std::string> notes;
  if (!options_.eval_freq && !cheap && !needed && epochs_ > 1)
    notes.push_back(text("evaluated after the last epoch only: an evaluation passes ", evaluator_->samples_passed(),
                         " samples, an epoch ", layout_.train_size, "; --eval_freq 1 evaluates after each"));
  if (!options_.eval_freq) options_.eval_freq = cheap || needed ? 1 : epochs_;
  eval_freq_ = *options_.eval_freq;
  const bool writes_file = !options_.output_file.empty();
  RunPlan plan{full_.graph, step_options_.dtype, epochs_, steps_per_epoch_, writes_file, experiment_.results(), {}, {},
               {}};
  plan.begins = position_.step == 0;
  plan_callbacks(experiment_, evaluator_ != nullptr, plan);
  if (evaluator_) plan.attributes.push_back({"", "evaluated", std::string(evaluated.name)});
  if (!options_.save_path.empty()) check_names(options_);
  // What is made from here on a signal must not leave behind.
  if (!options_.save_path.empty() || plan.writes_file) signals_ = std::make_unique<SignalGuard>();
  if (!options_.save_path.empty()) {
    double bytes = 0;
    for (const auto& [name, tensor] : variables_.all()) bytes += double(tensor.bytes()) + 200;
    saver_ = std::make_unique<CheckpointSaver>(options_.save_path, int(options_.history));
    saver_->claim(int64_t(bytes));
  }
  say(plan.messages);
  say(notes);
  if (plan.writes_file) log_ = std::make_unique<RunLog>(options_, experiment_, plan, eval_freq_, position_);
}

void Trainer::log_what_is_run() {
  progress_.log(text("neon ", version(), ", seed ", position_.seed));
  progress_.log("options: " + write_params(options_).to_string());
  progress_.log("spec: " + experiment_.resolved(options_).to_string());
}

void Trainer::settle(const std::function<void()>& settled) {
  progress_.log("runs on " + device_text());
  if (settled) settled();
}

void Trainer::show_progress() {
  ProgressState state;
  state.epoch = position_.epoch + 1;
  state.epochs = epochs_;
  state.step = position_.step_in_epoch;
  state.steps = steps_per_epoch_;
  state.cost = recent_cost_.value_or(0);
  state.skipped = position_.skipped;
  const double elapsed = now_seconds() - epoch_started_;
  const double done = double(position_.step - epoch_start_step_);
  state.samples_per_second = elapsed > 0 ? done * double(step_options_.batch) / elapsed : 0;
  state.seconds_left = done > 0 ? elapsed / done * double(epochs_ * steps_per_epoch_ - position_.step) : 0;
  state.waiting = waiting(elapsed);
  progress_.step(state);
}

// Share of the epoch so far in which the device waited for data.
double Trainer::waiting(double elapsed) const { return elapsed > 0 ? (feed_->waited() - epoch_waited_) / elapsed : 0; }

bool Trainer::evaluates_after(int64_t epoch) const {
  return evaluator_ && (epoch % eval_freq_ == 0 || epoch == epochs_);
}

std::map<std::string, double> Trainer::evaluate(int64_t epoch) {
  const double before = now_seconds();
  auto results = evaluator_->run();
  if (log_ && !results.empty()) log_->evaluation(epoch, results, now_seconds() - before);
  return results;
}

void Trainer::take_results(const std::map<std::string, double>& results, int64_t epoch) {
  results_ = results;
  evaluated_epoch_ = epoch;
  evaluation_finite_ = std::isfinite(results.at("cost"));
}

bool Trainer::end_epoch() {
  const double seconds = now_seconds() - epoch_started_, share_waiting = waiting(seconds);
  const double mean_cost = position_.samples ? position_.cost_sum / double(position_.samples) : 0;
  std::map<std::string, double> results;
  if (evaluates_after(position_.epoch + 1)) {
    results = evaluate(position_.epoch + 1);
    if (results.empty()) return false;
    take_results(results, position_.epoch + 1);
  }
  epoch_cost_ = mean_cost;
  ++position_.epoch;
  position_.step_in_epoch = 0;
  const int64_t steps = position_.step - epoch_start_step_;
  position_.cost_sum = 0;
  position_.samples = 0;
  if (log_) log_->epoch(position_, mean_cost, rate_, seconds);
  if (!experiment_.params.callbacks.empty()) variables_.to_host();
  EpochEnd end{position_.epoch, mean_cost, results, variables_, ""};
  for (const auto& callback : experiment_.params.callbacks) callback->epoch_end(end);
  ProgressState state;
  state.epoch = position_.epoch;
  state.epochs = epochs_;
  state.cost = mean_cost;
  state.skipped = position_.skipped;
  state.samples_per_second = seconds > 0 ? double(steps * step_options_.batch) / seconds : 0;
  state.waiting = share_waiting;
  progress_.epoch(state, results_text(end.results, experiment_, set_during_training(data_).name));
  if (!end.message.empty()) progress_.message(end.message);
  tell_left_out();
  return true;
}

void Trainer::count_seconds() {
  const double now = now_seconds();
  position_.seconds += now - started_;
  started_ = now;
}

void Trainer::save(bool last) {
  count_seconds();
  if (!saver_) return;
  if (log_) log_->flush();
  variables_.to_host();
  try {
    say(saver_->save(pack_run(experiment_, experiment_.resolved(options_), options_, position_, variables_, data_),
                     position_.epoch));
    last_saved_ = options_.save_path;
    last_saved_evaluated_ = evaluated_now();
    saved_ = true;
  } catch (const Error& error) {
    if (last) throw;
    progress_.message(text("warning: ", error.what()));
  }
}

void Trainer::say(const std::vector<std::string>& messages) {
  for (const std::string& message : messages) progress_.message(message);
}

void Trainer::tell_left_out() {
  const auto messages = left_out_messages(data_);
  for (const std::string& message : messages)
    if (!std::ranges::count(told_left_out_, message)) progress_.message(message);
  told_left_out_ = messages;
}

}  // namespace neon
