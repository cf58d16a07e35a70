// An experiment: everything a spec says, as objects, checked against one another.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "datasets/batch_stream.h"
#include "datasets/dataset.h"
#include "models/step_graph.h"
#include "neon/core/key_error.h"
#include "neon/core/message.h"
#include "neon/train/buckets.h"
#include "neon/train/callback.h"
#include "neon/train/class_balance.h"
#include "neon/train/net_outputs.h"
#include "neon/train/normalize.h"
#include "neon/train/options.h"
#include "neon/train/parallel.h"
#include "neon/train/phase_spec.h"

namespace neon {

// The begin of the names of results on training samples; see ExperimentParams::train_metrics.
inline const std::string kOfTraining = "train_";

// The top level of a spec.
struct ExperimentParams {
  Made<Dataset> dataset;
  std::vector<Made<Augmentation>> augment;
  Normalize normalize;
  Setting define;
  Setting layers;
  Made<Cost> cost;
  OutputSpecs outputs;
  ClassWeights class_weights;
  Made<Rule> rule;
  Made<Optimizer> optimizer;
  std::vector<std::string> freeze;
  std::vector<PhaseParams> phases;
  std::vector<Made<Metric>> metrics;
  int64_t train_metrics = 0;
  std::vector<std::string> predictions;
  std::vector<Made<Callback>> callbacks;
  int64_t batch_size = 128;
  int64_t epochs = 10;
  bool shuffle = true;
  std::string sampling = "all";
  Buckets buckets;
  bool draws_by_class() const { return sampling == "balanced"; }
  // The order of samples that are no pieces of streams.
  SampleOrder order() const {
    return draws_by_class() ? SampleOrder::balanced : shuffle ? SampleOrder::drawn : SampleOrder::as_given;
  }
  int64_t accumulate = 1;
  int64_t reset_period = 0;
  double ema = 0;
  Parallel parallel;
  std::string backend;
  std::string datatype, fixed_point;
  std::optional<int64_t> rng_seed;
  static void describe(auto&& p) {
    p("dataset", &ExperimentParams::dataset, "Data set to take samples from, as in dataset: MNIST.", Required{});
    p("augment", &ExperimentParams::augment,
      "Random changes of the training images, in this order. An evaluation takes the middle of each image.");
    p("normalize", &ExperimentParams::normalize,
      "Brings channels to mean 0 and deviation 1: true measures both on the training set, {mean: [...], std: [...]} "
      "gives them.");
    p("define", &ExperimentParams::define,
      "Holds anchors (&name) for aliases (*name, <<: *name) elsewhere in the spec; neon ignores it otherwise.");
    p("layers", &ExperimentParams::layers, "Layers of the net, in order. Repeat makes copies of some.", Required{});
    p("cost", &ExperimentParams::cost, "Cost that training minimises, as in cost: CrossEntropyMulti.");
    p("outputs", &ExperimentParams::outputs,
      "In place of cost and metrics for a data set with several targets: by the name of each a cost, its weight, a "
      "layer and metrics, as in {price: {cost: MeanSquared, weight: 0.5, metrics: [MAE]}, grade: CrossEntropyMulti}.");
    p("class_weights", &ExperimentParams::class_weights,
      "Weights of classes in the training cost, which stays a mean over samples: balanced, n / (classes * n of the "
      "class); a number for each class; or numbers by name as in {cat: 2}, others being 1.");
    p("rule", &ExperimentParams::rule,
      "Rule that trains in place of a cost, as in rule: {ContrastiveDivergence: {k: 1}}.");
    p("optimizer", &ExperimentParams::optimizer,
      "Rule that updates the weights, as in optimizer: {Adam: {learning_rate: 0.001}}.", Required{});
    p("freeze", &ExperimentParams::freeze,
      "Layers and arrays that training leaves as they are, by name or pattern, as in freeze: [conv*, head/W]. They get "
      "no gradient and no optimizer state; batch norm in frozen layers keeps and uses its running statistics.");
    p("phases", &ExperimentParams::phases,
      "Trainings one after the other, of so many epochs each, with their own layers, cost or rule, and optimizer, or "
      "the spec's. The last trains the spec's layers, which evaluations and predictions use, and has the callbacks. "
      "Option -e N ends the run after N epochs in all; more make the last phase longer.");
    p("metrics", &ExperimentParams::metrics,
      "Results to report at each evaluation beside the cost. Default: Misclassification, for data with classes.");
    p("train_metrics", &ExperimentParams::train_metrics,
      "Training samples to evaluate beside the others, drawn from each class in proportion: the results are cost and "
      "metrics with train_ before their names. 0: none; a number beyond the set's takes all.",
      at_least(0), Unit{"samples"});
    p("predictions", &ExperimentParams::predictions,
      "Sets whose outputs and targets a run writes at its end, of train, validation and test: to predictions.npz in "
      "the "
      "run's folder, by the weights that neon eval takes.",
      one_of({"train", "validation", "test"}));
    p("callbacks", &ExperimentParams::callbacks, "Actions at the end of an epoch, as in callbacks: [EarlyStop].");
    describe_run(p);
  }
  // Length, steps and device of a run; options of the command line come first.
  static void describe_run(auto&& p) {
    p("batch_size", &ExperimentParams::batch_size, "Samples in a step.", at_least(1), Alias{"batchsize"});
    p("epochs", &ExperimentParams::epochs, "Passes over the training set.", closed(1, 1e9));
    p("shuffle", &ExperimentParams::shuffle, "Draws a new order of the samples for every epoch, from the seed.");
    p("sampling", &ExperimentParams::sampling,
      "Samples of an epoch: all, or balanced, as many draws of which each class has the same number.",
      one_of({"all", "balanced"}));
    p("buckets", &ExperimentParams::buckets,
      "Forms batches of sequences of similar lengths, each padded to the length of its bucket alone: a number "
      "of buckets, whose lengths are chosen for the least padding, or lengths as in [20, 50, 100], to which that of "
      "the longest sequence is added. 0: all batches are as long as the longest sequence. With shuffle: false each "
      "epoch passes the buckets from the shortest on, and the samples of a bucket in their order.");
    p("accumulate", &ExperimentParams::accumulate,
      "Steps to average gradients over before each update, as if the batch were that many times larger. The count "
      "continues across epochs; steps left over at the end of the run change nothing.",
      at_least(1), Unit{"steps"});
    p("ema", &ExperimentParams::ema,
      "Above 0, the evaluation, predict and --model_file use running means of the weights and of batch norm's running "
      "statistics. Update t keeps this share of a mean, or (1 + t) / (10 + t) where that is less, as in the first "
      "updates; 0.999 suits runs of some thousand updates.",
      half_open(0, 1));
    p("reset_period", &ExperimentParams::reset_period,
      "Batches after which recurrent layers begin at states of 0 again, where samples are pieces of streams: in the "
      "first batch of an epoch or evaluation, and in each whose number, from 1, this number divides. 0: in the first "
      "alone.",
      at_least(0), Unit{"batches"});
    p("parallel", &ExperimentParams::parallel,
      "How several devices (-m N) share a step, as in parallel: {batch_norm: all}. One device ignores it.");
    p("backend", &ExperimentParams::backend,
      "Device to compute on: cpu (also written mkl) or gpu (mgpu). Option -b comes first.",
      one_of({"", "cpu", "gpu", "mkl", "mgpu"}));
    p("datatype", &ExperimentParams::datatype,
      "Type of activations and weights. Option -d comes first. Samples stay f32 or bytes.",
      one_of({"", "f32", "f64", "f16", "bf16"}));
    p("fixed_point", &ExperimentParams::fixed_point,
      "Emulates a fixed-point type, BITS.FRACTION, as 16.12: all bits and those behind the point. The result of each "
      "op "
      "is rounded to the nearest number of the type, and saturates; sums inside an op are exact. Option --fixed_point "
      "comes first.");
    p("rng_seed", &ExperimentParams::rng_seed, "Seed of all random numbers. Option -r comes first.", at_least(0));
  }
};

class Experiment {
 public:
  // Throws a config error with all that is wrong.
  explicit Experiment(const Setting& root);

  ExperimentParams params;
  const Network& network() const { return *network_; }
  // At least one. Only the last, which trains the spec's own layers, has metrics and callbacks.
  const std::vector<TrainedPhase>& phases() const { return phases_; }
  const TrainedPhase& last_phase() const { return phases_.back(); }
  // A run trains the last phase alone, from initial weights.
  void keep_last_phase() {
    first_kept_ += phases_.size() - 1;
    phases_.erase(phases_.begin(), phases_.end() - 1);
  }
  std::vector<const Metric*> metrics() const;
  // The cost of the spec, or the sum of those of its outputs; null with a rule.
  const Cost* cost() const { return params.cost ? &*params.cost : cost_of_outputs_.get(); }
  // Whether the spec names some; that of a run that goes on does, where it got the default.
  bool metrics_named() const { return metrics_given_ && !params.metrics.empty(); }
  // The results of all metrics; two may have one of the same name.
  std::vector<Metric::Result> results() const;
  // Every parameter of everything, defaults included, and what the options say in place of the spec. A seed that a
  // run drew for itself is left out: data are not drawn from that.
  Setting resolved(const RunOptions& options) const;
  // Throws a config error unless cost, metrics and optimizer fit the net's outputs, in the graphs of all phases. A spec
  // that does not say what is measured gets Misclassification here, where it fits.
  void fit(const std::vector<StepGraph>& graphs, const DataLayout& layout);
  void fit(const StepGraph& graph, const DataLayout& layout);
  // Throws one for data whose batches the callback of that name cannot measure.
  void check_tunable(const std::string& callback, const DataLayout& layout) const;
  // The default batch size becomes that of a smaller training set.
  void fit_batch(const RunOptions& options, int64_t train_size);
  // Warnings with their places about a net that trains, but hardly as meant.
  std::vector<std::string> advice(const StepGraph& graph, const DataLayout& layout) const;
  // The result of `work`. Errors about a key of the spec get the key's place in front.
  auto placing(auto&& work) const {
    try {
      return work();
    } catch (const KeyError& error) {
      const std::string place = place_of(error.key()).to_string();
      fail(ErrorKind::config, place, place.empty() ? "" : ": ", error.what());
    }
  }

 private:
  // Where the spec has the value of a key; nowhere if it does not.
  Location place_of(const std::string& key) const;
  void add_default_metric(int64_t outputs, const DataLayout& layout);
  void make_outputs(const Setting& root, Problems& problems);
  void make_phases(const Setting& root, Problems& problems);
  std::shared_ptr<Network> network_;
  std::unique_ptr<const Cost> cost_of_outputs_;
  std::vector<std::unique_ptr<Metric>> of_outputs_;  // metrics
  std::vector<TrainedPhase> phases_;
  size_t first_kept_ = 0;                   // of the spec's phases
  std::map<std::string, Location> places_;  // of the spec's keys
  bool metrics_given_ = false, default_metric_ = false;
};

// The type of activations and weights.
DType data_type(const RunOptions& options, const ExperimentParams& params);
// Batch, type and the like of a run: what the options say, else the spec. `seed` is left to the run.
StepOptions step_options(const RunOptions& options, const ExperimentParams& params);
// Whether samples are mixed with their partners in a batch.
bool mixes(const StepOptions& step);
// Throws a config error for a batch that the training set cannot fill, or that is too small for its augmentations.
void check_batch(const RunOptions& options, const StepOptions& step, const DataLayout& layout);
// Throws a config error where an epoch ends with one sample for a rank, of which batch norm would see one value of each
// feature. `full` is the step of a whole batch, or of a rank's share of it, `samples`.
void check_last_batch(const RunOptions& options, const StepGraph& full, int64_t samples, const StepOptions& step,
                      const DataLayout& layout, RankOf of);

// Throws a config error where a run, or one of its phases, ends before its first update; returns notes where last steps
// come to none. Steps are counted from the begin of each phase.
std::vector<std::string> check_steps(const Experiment& experiment, const StepOptions& options, int64_t epochs,
                                     int64_t steps_per_epoch);
// Plans the run as the callbacks ask; throws a config error where one, or train_metrics, needs an evaluation and the
// run has none, or where one does not fit the run.
void plan_callbacks(const Experiment& experiment, bool evaluates, RunPlan& plan);

// Shapes and types of loaded data as the graphs need them.
DataLayout layout_of(const Data& data);
// The same from headers alone.
DataLayout layout_of(const DataCheck& check);

}  // namespace neon
