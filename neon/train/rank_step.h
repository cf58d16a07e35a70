// The part of a step that one rank computes: of a whole batch, or of the last, shorter one.
#pragma once
#include "neon/train/experiment.h"

namespace neon {

// Samples that are mixed with their partners stay together.
RankOf rank_of(const StepOptions& step, int rank, int ranks);

// The samples that an evaluation of a set of `size` passes at a time. Each rank has one at least; but streams stay as
// many as the spec says, since their number decides where each begins, and a rank without one computes nothing.
int64_t batch_of_evaluation(const DataLayout& layout, const StepOptions& run, int64_t size, int ranks);

struct RankStep {
  int64_t batch = 0;  // of all ranks
  RankOf of = {};
  int player = 0;       // of a rule
  bool updates = true;  // false: the step only adds up gradients
};

// A config error about a last batch says so.
StepGraph step_of_rank(const TrainedPhase& phase, const DataLayout& layout, const StepOptions& run, const RankStep& of);

// Makes the graphs of all steps and evaluations of so many ranks, one for each size that a rank's share has. Throws the
// config error that a training would throw. `sets` are the numbers of samples in evaluated sets.
void check_steps_of_ranks(const Experiment& experiment, const DataLayout& layout, const StepOptions& run, int ranks,
                          const std::vector<int64_t>& sets);

}  // namespace neon
