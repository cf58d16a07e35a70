#include <algorithm>

#include "neon/train/clock.h"
#include "neon/train/trainer.h"

namespace neon {

namespace {

// The loss scale is doubled after so many steps that did not overflow (Micikevicius et al. 2018, section 3.2).
constexpr double kMostLossScale = 16777216;
constexpr int64_t kStepsBeforeGrowth = 2000;

}  // namespace

Progress Trainer::progress_at(int64_t ahead) const {
  return {position_.epoch, position_.step + ahead, steps_per_epoch_, epochs_};
}

bool Trainer::watched(const Progress& step) const {
  return std::ranges::any_of(experiment_.params.callbacks,
                             [&](const auto& callback) { return callback->watches(step); });
}

void Trainer::end_watched_step(const StepProgram& now, const Progress& at, double loss_scale) {
  StepEnd end{at, loss_scale, *now.program, log_ ? &log_->file() : nullptr, {}};
  for (const auto& callback : experiment_.params.callbacks)
    if (callback->watches(at)) callback->step_end(end);
  say(end.messages);
}

// Of the steps of that update, in whole batches.
double Trainer::weights_together(int64_t update) const {
  const int64_t group = step_options_.accumulate, first = update * group;
  const int64_t short_ones = (first + group) / steps_per_epoch_ - first / steps_per_epoch_;
  const int64_t missing = steps_per_epoch_ * step_options_.batch - layout_.train_size;
  return double(group) - double(short_ones * missing) / double(step_options_.batch);
}

void Trainer::record_rates(Program& program, int64_t ahead) {
  const Progress at = progress_at(ahead);
  const auto& optimizers = full_.graph.optimizers;
  for (size_t k = 0; k < optimizers.size(); ++k) {
    const double rate = optimizers[k]->rate_at(at);
    if (k == 0) rate_ = rate;
    program.set_scalar(text("rate/", k), rate);
  }
  // Updates are counted, not the steps whose gradients only add up.
  const int64_t group = step_options_.accumulate, now = position_.step + ahead;
  program.set_scalar("step", double(now / group + 1));
  program.set_scalar("apply", (now + 1) % group == 0 ? 1 : 0);
  program.set_scalar("mean", 1 / weights_together(now / group));
  program.set_scalar("epoch", double(position_.epoch));
  program.set_scalar("watched", watched(at) ? 1 : 0);
  program.set_scalar("loss_scale", position_.loss_scale);
}

bool Trainer::next_batch(Program& program, int64_t ahead) try {
  return feed_->next(program, batch_number() + ahead);
} catch (const KernelFault&) {
  throw;  // of a step before, heard of here
} catch (const Error& error) {
  if (log_) log_->close(RunStatus::killed);
  fail(error.kind(), error.what(), kept_text());
}

int64_t Trainer::steps(int64_t most) {
  const int64_t full_steps = layout_.train_size / step_options_.batch;
  const bool full = position_.step_in_epoch < full_steps;
  StepProgram& now = full ? full_ : ragged_;
  int64_t count = std::min<int64_t>({most, now.program->depth("cost"), now.program->depth("finite"),
                                     full ? full_steps - position_.step_in_epoch : 1});
  // The loss scale grows after a step that the host has seen.
  if (scales_loss()) count = std::min(count, kStepsBeforeGrowth - position_.good_steps);
  for (int64_t i = 0; i < count; ++i) {
    if (!next_batch(*now.program, i)) count = i;
    if (i == count) break;
    record_rates(*now.program, i);
    now.program->run(uint64_t(position_.step + i));
    if (watched(progress_at(i))) count = i + 1;  // its results are looked at before another step
  }
  if (count == 0) return 0;
  const Progress last = progress_at(count - 1);
  const double loss_scale = position_.loss_scale;
  int64_t done = 0;
  for (bool finite = true; finite && done < count; ++done) finite = finish_step(now, int(count - 1 - done));
  if (done == count && watched(last)) end_watched_step(now, last, loss_scale);
  return done;
}

bool Trainer::finish_step(StepProgram& now, int back) {
  const int64_t samples =
      std::min(step_options_.batch, layout_.train_size - position_.step_in_epoch * step_options_.batch);
  const double cost = now.program->recorded("cost", 0, back);
  const bool finite = now.program->recorded("finite", 0, back) != 0;
  if (!finite) {
    handle_nonfinite(now, cost);
  } else if (scales_loss() && ++position_.good_steps >= kStepsBeforeGrowth) {
    position_.loss_scale = std::min(position_.loss_scale * 2, kMostLossScale);
    position_.good_steps = 0;
  }
  if (log_) log_->step(position_.step, cost);
  position_.cost_sum += cost * double(samples);
  position_.samples += samples;
  recent_step_cost_ = cost;
  recent_cost_ = recent_cost_ ? 0.9 * *recent_cost_ + 0.1 * cost : cost;
  ++position_.step;
  ++position_.step_in_epoch;
  return finite;
}

double Trainer::bench_steps(int64_t count) {
  while (count > 0) {
    if (position_.step_in_epoch >= steps_per_epoch_) position_.step_in_epoch = 0, ++position_.epoch;
    count -= steps(count);
  }
  return recent_step_cost_;
}

std::vector<double> Trainer::time_kernels_of_step() {
  full_.program->time_kernels(true);
  if ((position_.step_in_epoch + 1) * step_options_.batch > layout_.train_size)  // the next batch would be a ragged one
    position_.step_in_epoch = 0, ++position_.epoch;
  bench_steps(1);
  std::vector<double> out = full_.program->kernel_milliseconds();
  full_.program->time_kernels(false);
  return out;
}

int64_t Trainer::try_out(int64_t steps, double seconds) {
  constexpr int64_t kAtOnce = 64;
  const double end = now_seconds() + seconds;
  int64_t done = 0;
  while (done < steps && now_seconds() < end) {
    const int64_t count = std::min(steps - done, kAtOnce);
    bench_steps(count);
    done += count;
  }
  if (evaluator_) evaluator_->run();
  if (end_evaluator_) end_evaluator_->run();
  return done;
}

}  // namespace neon
