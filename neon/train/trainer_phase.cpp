// How a run goes from one phase to the next: other programs over the same variables.
#include "neon/train/constant_cost.h"
#include "neon/train/trainer.h"

namespace neon {

void Trainer::make_runner(const PhaseSpan& span) {
  phase_ = &span;
  runner_ = std::make_unique<StepRunner>(setup_, training_phase(setup_, span), variables_, start_.position, observer_,
                                         report_.listener());
  observer_.learning() = LearningWatch();
  if (!span.phase->of_spec || !span.phase->source.cost) return;  // a constant answer means nothing to another net
  observer_.learning().set_constant(
      [this] { return cost_of_constant(setup_.experiment, setup_.data, runner_->graph().outputs.size()); });
}

void Trainer::enter_phase(const PhaseSpan& span) {
  variables_.to_host();
  make_runner(span);
  begin_phase(runner_->graphs(), variables_, start_.position);
  evaluations_->begin_phase(span, variables_, setup_.device(start_.position, report_.listener()));
  variables_.to_device();
  report_.message(phase_text(span));
  report_.messages(sequence_warnings(*span.phase, setup_.data, setup_.layout, setup_.step));
}

}  // namespace neon
