// Takes the steps that a run's runner reports: callbacks see them, the metrics file keeps them, a run that
// cannot go on ends with what is kept of it.
#pragma once
#include <string>

#include "neon/train/checkpoints.h"
#include "neon/train/evaluations.h"
#include "neon/train/learning_watch.h"
#include "neon/train/run_fault.h"
#include "neon/train/run_report.h"
#include "neon/train/step_runner.h"

namespace neon {

class RunObserver : public StepObserver {
 public:
  RunObserver(const RunSetup& setup, RunReport& report, Checkpoints& checkpoints)
      : setup_(setup), report_(report), checkpoints_(checkpoints) {}
  bool watches(const Progress& step) const override;
  void watched_step_ended(const Progress& step, double loss_scale, const Program& program) override;
  void watched_move_ended(size_t player, const Program& program) override;
  void step_ended(int64_t step, double cost) override;
  void player_moved(int64_t step, double cost) override;
  [[noreturn]] void data_failed(const Error& error) override;
  [[noreturn]] void diverged(const std::string& what) override;

  // End the run as diverged where a weight, or the cost of the last evaluation, is not finite. No other step sees the
  // last step's update.
  void check_variables(Variables& variables, const StepGraph& graph, const Position& at);
  void check_evaluation(const Evaluations& evaluations, const Position& at);
  // The same after the last step of an epoch, where its cost grew beyond any sense.
  void check_cost(const Position& at);

  // Reports a net that does not learn, or that overfits. `at` is the begin of the next epoch.
  void epoch_ended(const Position& at, double mean_cost, const Evaluations& evaluations);

  // End the run for a kernel that failed, after so many steps, or for a rank that is gone.
  [[noreturn]] void kernel_failed(const KernelFault& fault, uint64_t seed, int64_t steps);
  [[noreturn]] void rank_lost();

  LearningWatch& learning() { return learning_; }

 private:
  // Before a run ends with an error: what is kept of it.
  std::string keep();
  std::string kept_text() const;
  const RunSetup& setup_;
  RunReport& report_;
  Checkpoints& checkpoints_;
  LearningWatch learning_;
};

}  // namespace neon
