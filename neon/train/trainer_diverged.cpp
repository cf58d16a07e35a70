// What is done about numbers that are not finite: a step of 16 bits is skipped, any other run ends.
#include <algorithm>
#include <cmath>

#include "neon/train/finite.h"
#include "neon/train/trainer.h"

namespace neon {

namespace {

constexpr double kLeastLossScale = 1;  // halved when a step overflows, down to this

}  // namespace

void Trainer::handle_nonfinite(StepProgram& now, double cost) {
  if (!scales_loss() || !std::isfinite(cost) || position_.loss_scale <= kLeastLossScale) diverged(now);
  position_.loss_scale = std::max(position_.loss_scale / 2, kLeastLossScale);
  position_.good_steps = 0;
  ++position_.skipped;
  now.program->go_on();
}

std::string Trainer::kept_text() const {
  if (!last_saved_.empty())
    return last_saved_evaluated_ ? "; the last good checkpoint is " + last_saved_
                                 : "; the last checkpoint is " + last_saved_ + ", whose net was not evaluated";
  if (!resumed_from_.empty()) return "; the checkpoint that it went on from is as it was: " + resumed_from_;
  return options_.save_path.empty() ? "; no checkpoint was being saved (-s FILE)" : "; it had saved no checkpoint yet";
}

void Trainer::diverged(StepProgram& now) {
  // The same step again, op by op. Nothing was written, so weights, indices and random numbers are the same.
  variables_.to_host();
  CpuOptions options;
  options.fuse = false;
  auto checking = compile_for_cpu(now.graph.graph, variables_, options);
  feed_->bind_again(*checking, batch_number());
  record_rates(*checking, 0);
  std::string found = checking->first_nonfinite(uint64_t(position_.step));
  if (found.empty()) found = "a value that the fused step overflowed in";
  end_diverged(text("in epoch ", position_.epoch + 1, ", step ", position_.step_in_epoch + 1, ": ", found));
}

void Trainer::end_diverged(const std::string& what) {
  if (log_) log_->close(RunStatus::killed);
  fail(ErrorKind::diverged, "the run diverged ", what, kept_text(),
       ". A smaller learning rate, gradient_clip_norm or a warm-up may help");
}

// What the last step's update made is seen by no other step.
void Trainer::check_variables() {
  variables_.to_host();
  const std::string found = first_not_finite(variables_, full_.graph, step_options_.dtype);
  if (found.empty()) return;
  const int64_t last = std::max<int64_t>(position_.step - 1, 0);
  end_diverged(text("in epoch ", last / steps_per_epoch_ + 1, ", step ", last % steps_per_epoch_ + 1,
                    ": after its update ", found));
}

void Trainer::check_evaluation() {
  const double cost = results_.empty() ? 0 : results_.at("cost");
  if (std::isfinite(cost)) return;
  const bool narrow = step_options_.dtype == DType::f16;
  end_diverged(text("by the end of epoch ", position_.epoch, ": its weights are finite, its ",
                    set_during_training(data_).name, " cost is ", not_finite_words(cost),
                    narrow ? " (f16 ends at 65504; -d bf16 has the range of f32)" : ""));
}

bool Trainer::evaluated_now() const { return evaluated_epoch_ == position_.epoch && position_.step_in_epoch == 0; }

// A net that cannot be evaluated takes no better one's place; nor does what it becomes, until that can be.
bool Trainer::may_save() {
  if (!saver_ || evaluation_finite_) return true;
  const std::string here = position_.step_in_epoch
                               ? text("in epoch ", position_.epoch + 1, ", step ", position_.step_in_epoch)
                               : text("after epoch ", position_.epoch);
  const std::string why =
      evaluated_now() ? "its evaluation is" : text("the last evaluation, after epoch ", evaluated_epoch_, ", was");
  progress_.message(text("warning: not saved ", here, ", since ", why, " not finite"));
  return false;
}

void Trainer::save_after_epoch() {
  if (!saver_) return;
  check_variables();
  if (may_save()) save(false);
}

}  // namespace neon
