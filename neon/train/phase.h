// One phase of a run: which samples it trains on, and the graph of its step for batches of any size. A run may have
// several phases, each with a StepRunner of its own, over the same variables.
#pragma once
#include <functional>
#include <string>

#include "datasets/batch_stream.h"
#include "neon/train/run_setup.h"

namespace neon {

struct Phase {
  std::string name = "the training step";  // in messages, while its programs are compiled
  const Split* split = nullptr;
  SampleOrder order = SampleOrder::drawn;
  // The step of `batch` samples, of several ranks this one's part of it. The weight of a short batch among accumulated
  // gradients is its share of a whole batch.
  std::function<StepGraph(int64_t batch, const DataLayout& layout)> graph;
};

// The phase that a spec's layers, cost and optimizer describe. `setup` must outlive it.
Phase training_phase(const RunSetup& setup);

}  // namespace neon
