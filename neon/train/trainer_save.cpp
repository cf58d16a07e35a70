// What a run saves: only weights that are finite, and none after an evaluation that was not.
#include <cmath>

#include "neon/train/clock.h"
#include "neon/train/finite.h"
#include "neon/train/trainer.h"

namespace neon {

void Trainer::count_seconds() {
  const double now = now_seconds();
  start_.position.seconds += now - started_;
  started_ = now;
}

void Trainer::save_after_epoch() {
  if (!checkpoints_.wanted()) return;
  check_variables();
  if (may_save()) save(false);
}

void Trainer::save_at_end() {
  if (checkpoints_.current() || !may_save()) count_seconds();
  else save(true);
}

// A failed save is a warning, and tried again after the next epoch; the last one throws.
void Trainer::save(bool last) {
  count_seconds();
  if (!checkpoints_.wanted()) return;
  report_.flush_metrics_file();
  try {
    report_.messages(checkpoints_.save(start_.position, variables_, evaluations_->are_of(start_.position)));
  } catch (const Error& error) {
    if (last) throw;
    report_.message(text("warning: ", error.what()));
  }
}

// A net that cannot be evaluated takes no better one's place; nor does what it becomes, until that can be.
bool Trainer::may_save() {
  if (!checkpoints_.wanted() || evaluations_->finite()) return true;
  const Position& at = start_.position;
  const std::string here =
      at.step_in_epoch ? text("in epoch ", at.epoch + 1, ", step ", at.step_in_epoch) : text("after epoch ", at.epoch);
  const std::string why = evaluations_->are_of(at)
                              ? "its evaluation is"
                              : text("the last evaluation, after epoch ", evaluations_->last_epoch(), ", was");
  report_.message(text("warning: not saved ", here, ", since ", why, " not finite"));
  return false;
}

// The last step's update is seen by no other step.
void Trainer::check_variables() {
  variables_.to_host();
  const std::string found = first_not_finite(variables_, runner_->graph(), setup_.step.dtype);
  if (found.empty()) return;
  const int64_t last = std::max<int64_t>(start_.position.step - 1, 0);
  observer_.diverged(text("in epoch ", last / setup_.steps_per_epoch + 1, ", step ", last % setup_.steps_per_epoch + 1,
                          ": after its update ", found));
}

void Trainer::check_evaluation() {
  const auto& results = evaluations_->results();
  const double cost = results.empty() ? 0 : results.at("cost");
  if (std::isfinite(cost)) return;
  const bool narrow = setup_.step.dtype == DType::f16;
  observer_.diverged(text("by the end of epoch ", start_.position.epoch, ": its weights are finite, its ",
                          evaluations_->set_name(), " cost is ", not_finite_words(cost),
                          narrow ? " (f16 ends at 65504; -d bf16 has the range of f32)" : ""));
}

}  // namespace neon
