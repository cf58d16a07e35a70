#include "neon/train/run_observer.h"

#include <algorithm>

namespace neon {

bool RunObserver::watches(const Progress& step) const {
  return std::ranges::any_of(setup_.experiment.params.callbacks,
                             [&](const auto& callback) { return callback->watches(step); });
}

void RunObserver::watched_step_ended(const Progress& step, double loss_scale, const Program& program) {
  StepEnd end{step, loss_scale, program, report_.metrics_file(), {}};
  for (const auto& callback : setup_.experiment.params.callbacks)
    if (callback->watches(step)) callback->step_end(end);
  report_.messages(end.messages);
}

void RunObserver::step_ended(int64_t step, double cost) {
  report_.step(step, cost);
  learning_.step(cost, step % setup_.steps_per_epoch, setup_.steps_per_epoch);
}

void RunObserver::data_failed(const Error& error) {
  report_.close_metrics_file(RunStatus::killed);
  fail(error.kind(), error.what(), checkpoints_.kept_text());
}

void RunObserver::diverged(const std::string& what) {
  report_.close_metrics_file(RunStatus::killed);
  fail(ErrorKind::diverged, "the run diverged ", what, checkpoints_.kept_text(),
       ". A smaller learning rate, gradient_clip_norm or a warm-up may help");
}

}  // namespace neon
