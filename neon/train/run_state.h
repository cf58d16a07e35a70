// A run as a checkpoint holds it: where it is, and everything it would need to go on to the same bits.
//
// Tensors: every variable of the store under its name (parameters, optimizer state, running statistics, running
// means), and callback/K/NAME. Metadata: neon.spec (the resolved spec), neon.options, neon.position and
// neon.callbacks (JSON), neon.data, neon.classes, neon.earlier_phases (JSON: names of arrays that the spec's own net
// has not), and neon.seal (own_key.h).
#pragma once
#include <optional>

#include "neon/train/callback.h"
#include "neon/train/experiment.h"
#include "neon/train/options.h"
#include "neon/train/safetensors.h"

namespace neon {

struct Position {
  int64_t epoch = 0;                          // epochs done
  int64_t step_in_epoch = 0;                  // steps done of the next
  int64_t step = 0;                           // all steps done
  double cost_sum = 0;                        // of the epoch so far, each step's cost times its targets
  int64_t counted = 0;                        // samples of the epoch so far, or steps with a target where these count
  std::vector<double> output_cost_sums = {};  // as cost_sum, of each output that has a target of its own
  double loss_scale = 1;
  int64_t good_steps = 0;  // since the scale last changed
  int64_t skipped = 0;
  int64_t updates = 0;  // done: `accumulate` steps make one update, and a skipped step makes none; -1: not stored
  bool spoilt = false;  // a step of the update to come was skipped, so that update will be skipped, too
  uint64_t seed = 0;
  double seconds = 0;               // spent training
  double epoch_seconds = 0;         // of the steps of the epoch so far, before stops, too
  std::optional<double> best;       // value of the best evaluation so far, by the result that tells (best_result.h)
  std::optional<double> best_cost;  // the cost then; older checkpoints do not say
  int64_t best_epoch = 0;           // epochs done then
  std::string best_of;              // the name of that result
  int64_t threads = 0;
  int64_t ranks = 0;        // that trained together; 0: of an older neon
  bool timed = false;       // algorithms of a GPU's libraries were chosen by the clock
  std::string phase;        // that trains the next step; "": the spec has no phases
  int64_t phase_first = 0;  // epochs done when it began
  std::string simd, version;
  std::string device, cuda;  // the GPU's name or "CPU"; CUDA's version and the driver's. "": of an older neon
  std::string run;           // names the run among the checkpoints of a folder
  std::string data;          // fingerprint() of the data it began with
};

// Mean costs of a training epoch: of all, and of each output that has a target of its own, without its weight.
struct MeanCosts {
  double all = 0;
  std::vector<double> outputs = {};
};
MeanCosts mean_costs(const Position& of);

// Throws a config error when one of the names cannot stand in a checkpoint, which holds UTF-8 alone.
void check_names(const RunOptions& options);

TensorFile pack_run(const Experiment& experiment, const Setting& resolved, const RunOptions& options,
                    const Position& position, const Variables& variables, const Data& data,
                    const std::vector<std::string>& of_earlier_phases = {});

struct StoredRun {
  Setting spec;
  RunOptions options;
  Position position;
  TensorFile file;
  bool is_own = false;    // a run of this user wrote it: its paths are the user's
  SampleMeaning meaning;  // of the samples that the net was trained with
};
// Throws a data error when the metadata is not that of a run.
StoredRun unpack_run(TensorFile file, const std::string& path);
// Whether the run was with --caffe; nothing where the metadata does not say so, or cannot be read.
std::optional<bool> trained_as_caffe(const TensorFile& file);

// The parameters and running statistics of a checkpoint; with `running_means` their means (NAME/ema) in their
// place. Arrays of the optimizer (NAME/velocity), of the step and of callbacks are left
// out.
TensorFile evaluated_weights(const TensorFile& file, bool running_means);

// Declares all variables of a net's graph, those too that none of its outputs needs, so that programs do without them:
// of branches that count while training only.
void declare_variables(const Graph& graph, Variables& variables);

// Copies tensors into variables of the same name; throws a config error that lists every difference: a name on one
// side only, another type or shape. Callbacks' arrays do not count. With `weights_only` only what evaluated_weights
// gives, with means where there are such, is wanted of the file, converted to the variables' types, and other variables
// stay as they are.
void restore_variables(const TensorFile& file, const std::string& path, Variables& variables,
                       bool weights_only = false);
// "W is f32 (8, 4) in the file, f32 (9, 4) in the net"; "" where the stored values can be copied. `rounds`: those of
// another floating type can.
std::string misfit(const std::string& name, const Tensor& stored, const Tensor& here, bool rounds);
// Throws the config error for a checkpoint that differs from the net so.
[[noreturn]] void another_net(const std::string& path, const std::vector<std::string>& differences);
// Gives the experiment's callbacks the states of those that the run had. Returns all that it had, in its order, those
// that the experiment has not as they were saved: their train_begin undoes what they did to the weights when the run
// ended, the last first.
std::vector<Made<Callback>> restore_callbacks(const StoredRun& run, const Experiment& experiment);

}  // namespace neon
