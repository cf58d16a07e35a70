#include "neon/cli/untrained_phase.h"

namespace neon {

std::string untrained_phase(const Experiment& experiment, const Position& at, const std::string& path) {
  const TrainedPhase& last = experiment.last_phase();
  const int64_t all = experiment.params.epochs, before = all - last.epochs;
  if (experiment.phases().size() < 2 || at.epoch > before || (at.epoch == before && at.step_in_epoch > 0)) return "";
  return text("the last phase, ", last.name, ", has not trained yet: neon resume ", shell_word(path), " -e ", all,
              " trains it");
}

}  // namespace neon
