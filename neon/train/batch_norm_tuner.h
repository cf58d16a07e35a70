// Batch norm's statistics measured anew with the weights as they are, where BatchNormTune asks for it.
#pragma once
#include <memory>

#include "neon/train/batch_feed.h"
#include "neon/train/callback.h"
#include "neon/train/run_setup.h"

namespace neon {

class BatchNormTuner {
 public:
  // Sets the statistics after an epoch of `position`. False: a signal asks the run to stop. Does nothing, and returns
  // true, where no callback asks for it.
  bool tune(const RunSetup& setup, const PhaseSpan& phase, const Position& position, Variables& variables,
            Listener& listener);

 private:
  void compile(const RunSetup& setup, const PhaseSpan& phase, const Position& position, Listener& listener);
  void take_weights(const Variables& variables);
  void set_statistics(const RunSetup& setup, Variables& variables, int64_t batches);

  std::vector<LayerState> states_;
  Variables copies_;  // of running means of the weights, where the run has these, or of the weights
  std::unique_ptr<BatchFeed> feed_;
  std::unique_ptr<Program> program_;
};

}  // namespace neon
