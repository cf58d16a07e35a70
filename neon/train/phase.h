// One phase of a run: which samples it trains on, which epochs, and the graphs of its step for batches of any size.
// Each has a StepRunner of its own, over the same variables.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "datasets/batch_stream.h"
#include "neon/train/batch_feed.h"
#include "neon/train/run_setup.h"

namespace neon {

struct Phase {
  std::string name = "the training step";  // in messages, while its programs are compiled
  const Split* split = nullptr;
  SampleOrder order = SampleOrder::drawn;
  int64_t first_epoch = 0, epochs = 1;  // of the run. Schedules and updates count from the phase's first step
  const Rule* rule = nullptr;
  // The step of `batch` samples, of several ranks this one's part of it, of one of the rule's players. The weight of a
  // short batch among accumulated gradients is its share of a whole batch.
  std::function<StepGraph(int64_t batch, const DataLayout& layout, int player)> graph;
  // The same of a step that only adds up gradients; empty unless ranks sum apart.
  std::function<StepGraph(int64_t batch, const DataLayout& layout)> adding = {};
  int players() const { return rule ? rule->players() : 1; }
  // Whether a player moves in that step of the phase.
  bool moves(size_t player, int64_t step) const {
    return !rule || rule->moves_before(int(player), step + 1) > rule->moves_before(int(player), step);
  }
  // A place in the run as the phase's schedules see it.
  Progress own(const Progress& at) const {
    return {at.epoch - first_epoch, at.step - first_epoch * at.steps_per_epoch, at.steps_per_epoch, epochs};
  }
};

// A phase of the spec. `setup` must outlive it.
Phase training_phase(const RunSetup& setup, const PhaseSpan& span);

// How such a phase's batches are read, as every device reads them.
FeedOptions feed_options(const RunSetup& setup, const Phase& phase, uint64_t seed);

// The graphs of a step of all phases, that of the first player each. All variables of all phases are declared, so that
// a checkpoint has them; setup.of_earlier_phases becomes known. Throws a config error where phases do not fit together.
std::vector<StepGraph> graphs_of_phases(RunSetup& setup, Variables& variables);

// The histograms in the steps of the last phase's players after the first, where callbacks look at gradients.
std::vector<std::vector<StepGraph::Histogram>> histograms_of_others(const RunSetup& setup);

// The lengths of batches and the padding of the first epoch, where the run has buckets.
std::string padding_text(const RunSetup& setup, const Phase& phase, uint64_t seed);

// Warnings of a phase's samples: lost_steps_text() of those that it trains with, misfits_text() of all sets.
std::vector<std::string> sequence_warnings(const TrainedPhase& phase, const Data& data, const DataLayout& layout,
                                           const StepOptions& step);

// "phase first: epochs 1 to 5"
std::string phase_text(const PhaseSpan& span);

// Before the first step of a phase after the first: what optimizers, accumulated gradients and carried states have left
// becomes 0, and running means start from the weights. `graphs` are those of the phase's step.
void begin_phase(const std::vector<const StepGraph*>& graphs, Variables& variables, Position& position);

}  // namespace neon
