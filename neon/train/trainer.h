// A training run: the loop of epochs, from the start or from where a checkpoint left off.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "neon/core/counted.h"
#include "neon/train/batch_norm_tuner.h"
#include "neon/train/evaluations.h"
#include "neon/train/made_images.h"
#include "neon/train/run_observer.h"
#include "neon/train/run_result.h"
#include "neon/train/run_start.h"
#include "neon/train/taken_weights.h"

namespace neon {

class SignalGuard;

class Trainer {
 public:
  // Compiles the programs and sets the initial weights; `resume` continues a stored run. Checks everything before the
  // first step: that cost and metrics fit, that checkpoint and metrics file can be written. A run without a given seed
  // takes `drawn`, or else draws one; unlike a given seed, `drawn` does not ask for the same bits. All `ranks` make the
  // same calls; null: this process is alone.
  Trainer(Experiment& experiment, Data data, RunOptions options, const StoredRun* resume = nullptr,
          std::optional<uint64_t> drawn = {}, Ranks* ranks = nullptr);
  ~Trainer();
  // Calls `settled` once nothing of the program is left to the clock any more. Throws RunFault for a KernelFault.
  RunResult run(const std::function<void()>& settled = {});

  StepRunner& steps() { return *runner_; }
  Evaluations& evaluations() { return *evaluations_; }
  Variables& variables() { return variables_; }
  // The weights that came from --model_file.
  const TakenWeights& taken() const { return taken_; }
  RunReport& report() { return report_; }
  int64_t threads() const { return start_.position.threads; }
  std::string device_text() const { return setup_.gpu ? setup_.device_name : counted(threads(), "thread"); }

 private:
  // Before the first step (trainer_start.cpp).
  void make_programs(const StoredRun* resume);
  void set_variables(const StoredRun* resume);
  void open_files();

  // The programs of a phase (trainer_phase.cpp).
  void make_runner(const PhaseSpan& span);
  void enter_phase(const PhaseSpan& span);

  void begin_training();
  void train(const std::function<void()>& settled);
  void train_epoch();
  void settle(const std::function<void()>& settled);
  bool finished() const;

  // The ends of an epoch and of the run (trainer_end.cpp). False: a signal stopped the evaluation.
  bool end_epoch();
  bool end_training();
  RunResult result_of(int signal, double seconds);

  // Saves a checkpoint where the last evaluation was finite (trainer_save.cpp).
  void save(bool last);
  void count_seconds();

  RunSetup setup_;
  RunReport report_;
  RunStart start_;
  Checkpoints checkpoints_;
  RunObserver observer_;
  Variables variables_;
  std::vector<StepGraph> graphs_;  // of a step of each phase
  const PhaseSpan* phase_ = nullptr;
  std::unique_ptr<StepRunner> runner_;
  std::unique_ptr<Evaluations> evaluations_;
  BatchNormTuner tuner_;
  MadeSheets sheets_;
  TakenWeights taken_;
  std::unique_ptr<SignalGuard> signals_;          // from the first file of the run to its begin
  std::vector<Made<Callback>> former_callbacks_;  // of the resumed run
  std::optional<double> epoch_cost_;              // mean of the last whole epoch
  int64_t first_step_ = 0;
  int64_t together_ = 1;  // steps that are asked for at once
  double started_ = 0;
};

}  // namespace neon
