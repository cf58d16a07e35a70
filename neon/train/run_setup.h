// The request for a run: spec, options, data and device, settled before the first program is compiled.
#pragma once
#include <string>

#include "backends/device/device.h"
#include "backends/ranks.h"
#include "datasets/dataset.h"
#include "neon/train/experiment.h"
#include "neon/train/options.h"
#include "neon/train/run_state.h"

namespace neon {

// The epochs of a run in which it trains a phase; none where -e ends the run before.
struct PhaseSpan {
  const TrainedPhase* phase = nullptr;
  int64_t first = 0, epochs = 0;
  bool last = false;  // of the spec's phases
};

// A parameter that ranks share: this rank's part, and how many rows or columns it has.
struct SplitArray {
  std::string name;
  SharedPart part;
  int64_t count = 0;
  bool gathered = false;  // in a step, whose gradient is of all rows
};

struct RunSetup {
  // Throws a config error for a batch that the training set cannot fill, a device error for a GPU that cannot be used.
  // `ranks`: that train together; null: this process is alone.
  RunSetup(Experiment& experiment, Data data, RunOptions options, Ranks* ranks = nullptr);

  Experiment& experiment;
  Data data;
  RunOptions options;
  StepOptions step;  // its seed is that of the run's start
  DataLayout layout;
  SampleBuckets buckets = nullptr;  // of the training samples, where the spec asks for them
  int64_t epochs = 1, steps_per_epoch = 1;
  std::vector<PhaseSpan> phases;                    // those of the experiment, in order
  std::vector<std::string> of_earlier_phases = {};  // variables that the last phase has not
  std::vector<SplitArray> split = {};               // the parameters that are
  Ranks* ranks = nullptr;
  bool gpu = false;
  std::string device_name = "CPU", cuda;  // cuda: the version and the driver's; "" on the CPU

  RankOf rank() const;
  // Whether this process writes the files of the run.
  bool leads() const { return rank().rank == 0; }
  // The phase that trains the epoch after so many; after the last, the one that trained it.
  const PhaseSpan& phase_after(int64_t epochs_done) const;
  // The first step of an epoch, counted through the run.
  int64_t first_step(int64_t epoch) const { return epoch * steps_per_epoch; }

  // 16-bit types scale the loss. The scale keeps small f16 gradients from underflowing; bf16 has the range of f32 and
  // needs the scale only to skip steps that overflow.
  bool scales_loss() const { return size_of(step.dtype) == 2; }
  // How programs of the training step are compiled: by the threads and the choice of algorithms in `position`.
  DeviceOptions device(const Position& position, Listener& listener) const;
};

// Throws a config error for keys that do not fit the samples: weights and draws of classes, and when streams begin
// anew.
void check_keys_of_samples(const ExperimentParams& params, const DataLayout& layout);
// Throws a config error for what one process alone trains.
void check_trains_on_several(const Experiment& experiment);

}  // namespace neon
