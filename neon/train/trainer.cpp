#include "neon/train/trainer.h"

#include <algorithm>
#include <ranges>

#include "neon/train/best_result.h"
#include "neon/train/clock.h"
#include "neon/train/rank_agreement.h"
#include "neon/train/signals.h"

namespace neon {

namespace {

constexpr double kSecondsUnseen = 0.05;
constexpr int64_t kMostTogether = 1024;

}  // namespace

void Trainer::begin_training() {
  first_step_ = start_.position.step;
  const auto& callbacks = setup_.experiment.params.callbacks;
  for (const auto& callback : former_callbacks_ | std::views::reverse) callback->train_begin(variables_);
  const auto is_former = [&](const auto& callback) {
    return std::ranges::any_of(former_callbacks_, [&](const auto& former) { return &*former == &*callback; });
  };
  for (const auto& callback : callbacks)
    if (!is_former(callback)) callback->train_begin(variables_);
  if (first_step_ > 0) variables_.to_device();  // what the callbacks put back
}

void Trainer::train(const std::function<void()>& settled) {
  begin_training();
  const Position& at = start_.position;
  while (!finished() && !stop_signal()) {
    checkpoints_.set_current(false);
    if (const PhaseSpan& span = setup_.phase_after(at.epoch); &span != phase_) enter_phase(span);
    report_.begin_steps(at, runner_->feed().waited());
    if (!start_.threads_fixed) {
      runner_->choose_threads();
      start_.threads_fixed = true;
      settle(settled);
    }
    train_epoch();
    start_.position.epoch_seconds += report_.end_steps(runner_->feed().waited());
    if (at.step_in_epoch < setup_.steps_per_epoch) return;
    if (!end_epoch()) return;
    const bool goes_on = !finished() && !stop_signal(), saves = goes_on && checkpoints_.due(at);
    // After the last epoch the callbacks may change the net before it is saved.
    const bool saved_next = saves || (!goes_on && setup_.experiment.params.callbacks.empty());
    if (evaluations_->are_of(at) && note_if_best(setup_, evaluations_->results(), start_.position))
      checkpoints_.set_best(at, variables_, saved_next);
    if (!saves) continue;
    observer_.check_variables(variables_, runner_->graph(), at);
    save(false);
  }
}

void Trainer::train_epoch() {
  const Position& at = start_.position;
  together_ = 1;
  while (at.step_in_epoch < setup_.steps_per_epoch && (!stop_signal() || runner_->amid_update())) {
    const double before = now_seconds();
    runner_->run(together_);
    // As many at once as keep signals and progress waiting no longer than one can notice.
    if (now_seconds() - before < kSecondsUnseen / 2) together_ = std::min<int64_t>(together_ * 2, kMostTogether);
    else if (now_seconds() - before > kSecondsUnseen) together_ = std::max<int64_t>(together_ / 2, 1);
    report_.progress(at, runner_->feed().waited());
    report_.take_metrics_messages();
  }
}

void Trainer::settle(const std::function<void()>& settled) {
  report_.log("runs on " + device_text());
  if (settled) settled();
}

// No epoch is left, or a callback has ended the run.
bool Trainer::finished() const {
  return start_.position.epoch >= setup_.epochs ||
         std::ranges::any_of(setup_.experiment.params.callbacks,
                             [](const auto& callback) { return callback->ended_run(); });
}

RunResult Trainer::run(const std::function<void()>& settled) try {
  const auto signals = signals_ ? std::move(signals_) : std::make_unique<SignalGuard>(setup_.ranks);
  const Position& at = start_.position;
  const double seconds_before = at.seconds;
  started_ = now_seconds();
  checkpoints_.tell_kept();
  if (start_.threads_fixed) settle(settled);
  if (!finished()) train(settled);
  else if (at.epoch < setup_.epochs)
    report_.message(text("the run was stopped early after epoch ", at.epoch,
                         "; with more patience (--set callbacks=...), or with --set callbacks=[], it goes on"));
  if (!checkpoints_.current()) observer_.check_variables(variables_, runner_->graph(), at);
  const bool complete = finished() && end_training();
  const int signal = complete ? 0 : stop_signal();
  if (complete && !checkpoints_.current()) observer_.check_evaluation(*evaluations_, at);
  if (checkpoints_.current()) count_seconds();
  else save(true);
  if (setup_.ranks) share_left_out(*setup_.ranks, setup_.data.train);
  report_.left_out();
  report_.close_metrics_file(signal ? RunStatus::killed : RunStatus::complete);
  report_.take_metrics_messages();
  report_.clear_line();
  return result_of(signal, at.seconds - seconds_before);
} catch (const KernelFault& fault) {
  observer_.kernel_failed(fault, start_.position.seed, start_.position.step - first_step_ + together_);
} catch (const RankLost&) {
  observer_.rank_lost();
} catch (const std::exception& error) {
  report_.left_out();
  report_.log(reason_of(error, "a fault in neon itself"));
  throw;
}

}  // namespace neon
