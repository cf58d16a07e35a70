#include "neon/cli/untrained_phase.h"

#include "neon/train/terminal.h"

namespace neon {

std::string untrained_phase(const Experiment& experiment, const Position& at, const std::string& path) {
  const TrainedPhase& last = experiment.last_phase();
  const int64_t all = experiment.params.epochs, before = all - last.epochs;
  if (experiment.phases().size() < 2 || at.epoch > before || (at.epoch == before && at.step_in_epoch > 0)) return "";
  return text("the last phase, ", last.name, ", has not trained yet: neon resume ", shell_word(path), " -e ", all,
              " trains it");
}

void warn_of_untrained_phase(const Experiment& experiment, const Position& at, const std::string& path) {
  if (const std::string said = untrained_phase(experiment, at, path); !said.empty())
    print_message(text("warning: ", path, ": ", said));
}

}  // namespace neon
