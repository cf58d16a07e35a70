// The evaluations of a run: of which sets, after which epochs, and with what results.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "neon/train/evaluator.h"
#include "neon/train/run_setup.h"

namespace neon {

class Evaluations {
 public:
  using Results = std::map<std::string, double>;  // as Evaluator::run gives them

  // Compiles the programs for the net of a phase. All arguments must outlive this.
  Evaluations(const RunSetup& setup, const PhaseSpan& phase, Variables& variables, const DeviceOptions& device);
  // Compiles them for the net of another phase, of which nothing is evaluated yet.
  void begin_phase(const PhaseSpan& phase, Variables& variables, const DeviceOptions& device);
  // Whether there is a set to evaluate.
  bool any() const { return during_ != nullptr; }
  const char* set_name() const { return set_during_training(setup_.data).name; }

  // Settles after how many epochs each is due: as the options say, else after each where that is cheap or a callback
  // needs it, else after the last alone. Then adds a note.
  void settle_frequency(bool needed, std::vector<std::string>& notes);
  int64_t frequency() const { return frequency_; }
  bool due_after(int64_t epoch) const;

  // Evaluates the net after so many epochs. Empty, and without effect: a signal asks the run to stop.
  Results run(int64_t epoch);
  // The set at the end, where that is another one. False: a signal asks the run to stop.
  bool run_at_end();
  // Results of the last run(); empty after forget().
  const Results& results() const { return results_; }
  const Results& at_end() const { return at_end_; }
  // The net has changed since.
  void forget() { results_.clear(); }

  // Whether the last evaluation was of the net at this position.
  bool are_of(const Position& position) const { return epoch_ == position.epoch && position.step_in_epoch == 0; }
  // Whether the last cost was finite, and after which epoch that was. True where there was no evaluation.
  bool finite() const { return finite_; }
  int64_t last_epoch() const { return epoch_; }
  // For measurements: passes over all sets, without effect.
  void repeat();

 private:
  const RunSetup& setup_;
  const Split of_training_;                               // training samples, where the spec asks for them
  std::unique_ptr<Evaluator> training_;                   // null: it does not
  std::unique_ptr<Evaluator> during_, at_end_evaluator_;  // null: no set; null: the same set as during training
  Results results_, at_end_;
  int64_t frequency_ = 1, epoch_ = 0;  // epoch_: epochs done at the last evaluation; 0: none yet
  bool finite_ = true;
};

}  // namespace neon
