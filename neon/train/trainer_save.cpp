// A run saves only weights that are finite, and none after an evaluation that was not.
#include "neon/train/clock.h"
#include "neon/train/trainer.h"

namespace neon {

namespace {

// A net that cannot be evaluated takes no better one's place; nor does what it becomes, until that can be. Empty where
// the net may be saved.
std::string why_not_saved(const Evaluations& evaluations, const Position& at) {
  if (evaluations.finite()) return "";
  const std::string here =
      at.step_in_epoch ? text("in epoch ", at.epoch + 1, ", step ", at.step_in_epoch) : text("after epoch ", at.epoch);
  const std::string why = evaluations.are_of(at)
                              ? "its evaluation is"
                              : text("the last evaluation, after epoch ", evaluations.last_epoch(), ", was");
  return text("warning: not saved ", here, ", since ", why, " not finite");
}

}  // namespace

void Trainer::count_seconds() {
  const double now = now_seconds();
  start_.position.seconds += now - started_;
  started_ = now;
}

// A failed save is a warning, and tried again after the next epoch; the last one throws.
void Trainer::save(bool last) {
  count_seconds();
  if (!checkpoints_.wanted()) return;
  if (const std::string why = why_not_saved(*evaluations_, start_.position); !why.empty()) {
    report_.message(why);
    if (const std::string warning = last ? checkpoints_.write_best() : ""; !warning.empty()) report_.message(warning);
    return;
  }
  report_.flush_metrics_file();
  const PhaseSpan& span = setup_.phase_after(start_.position.epoch);
  start_.position.phase = span.phase->name;
  start_.position.phase_first = span.first;
  try {
    report_.messages(checkpoints_.save(start_.position, variables_, evaluations_->are_of(start_.position)));
  } catch (const Error& error) {
    if (last) throw;
    report_.message(text("warning: ", error.what()));
  }
}

}  // namespace neon
