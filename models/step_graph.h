// The graphs of a run: a training step, and a pass over a set for metrics or predictions. A batch is gathered
// from the whole set inside the step:
//   data     (n, ...) as the reader gave it, u8 or floating, images (n,C,H,W) or (n,H,W,C); where the set is streamed,
//            the batches that are there at a time
//   targets  (n, 1) i32 labels, or (n, columns) f32 of several targets side by side, or (n, ...) floating, images
//   (n,C,H,W) whatever the order of `data` indices  (N) i32 which samples make up the batch
// The step record holds update (1 in the first update; a skipped one is not counted), epoch, rate/K for optimizer K,
// loss_scale for 16-bit types, with streams stream_start, and with StepOptions::accumulate, apply and mean; with
// StepOptions::histograms, watched.
#pragma once
#include <cmath>
#include <optional>

#include "datasets/sample_meaning.h"
#include "models/fixed_point.h"
#include "models/network.h"
#include "models/rule.h"
#include "optimizers/optimizer.h"
#include "transforms/augmentation.h"
#include "transforms/cost.h"
#include "transforms/metric.h"

namespace neon {

// The graphs need these facts about a data set. `dtype` is that of the samples that a graph reads.
struct DataLayout : SampleMeaning {
  DType target_dtype = DType::f32;
  Shape target;  // of one sample's; a label: (1), labels of pixels: (H,W)
  int64_t train_size = 0;
  int64_t held = 0;  // training samples that `data` holds at a time; 0: all
  bool target_is_input = false;
  bool steps_are_targets = false;  // the steps of samples of different lengths are the targets themselves
  bool masked = false;             // behind the numbers of a target, or of each of its steps, stands a mask of as many
  int64_t rows() const { return held ? held : train_size; }
  // Steps that a sequence has in `data`, and in `targets` where each step has a label; 0: as many as in `sample`. A
  // batch has the first steps, as many as `sample` has; the others are padding of all its samples.
  int64_t held_steps = 0;
  // The same of targets that are labels (L), with a length of their own.
  int64_t held_labels = 0;
  // The same facts for batches of sequences of so many steps at most; and of so many labels, 0: of any number.
  DataLayout with_steps(int64_t steps, int64_t labels = 0) const;
  // Whether targets are labels (L), with -1 behind the last one, whose number is not that of the sample's steps.
  bool targets_have_lengths() const {
    return classes > 0 && targets.empty() && !target_is_input && target.rank() == 1 &&
           (label_of == LabelOf::sequence || (label_of == LabelOf::step && target_steps > 0));
  }
  bool cuts_targets() const { return held_steps > 0 && steps_have_targets(); }
  // Whether targets (T,K) are numbers for each step of sequences of different lengths.
  bool steps_have_numbers() const {
    if (steps_are_targets) return true;
    return ragged && classes == 0 && !target_is_input && targets.empty() && target.rank() == 2 &&
           target[0] == sample[0];
  }
  // The numbers (T,K) of such a target, and how many an output gives for a step.
  const Shape& target_of_steps() const { return steps_are_targets ? sample : target; }
  int64_t numbers_of_step() const { return masked ? target[1] / 2 : target_of_steps()[1]; }
  // Whether each step of a sample has a target of its own.
  bool steps_have_targets() const { return (label_of == LabelOf::step && target_steps == 0) || steps_have_numbers(); }
};

// Histograms of a step have a bin for each size that an f32 has: bin i is of 2^(kSizeOfZero + i), the first of 0 alone.
// Infinity and NaN are counted nowhere.
constexpr int64_t kSizeOfZero = -150, kSizes = 279;

// An output of a net with several: that of a layer, for the target of that name.
struct NetOutput {
  std::string target, layer;
  bool class_weights = false;  // the cost of a sample is times the weight of its class, in class_weights_of(place)
  bool operator==(const NetOutput&) const = default;
};

struct StepOptions {
  DType dtype = DType::f32;
  int64_t batch = 128;
  uint64_t seed = 0;
  // Above 0: parameters are stored in `dtype`, without masters, and an update is rounded to this many bits of mantissa
  // stochastically (-u). Optimizer states, running means and statistics stay in the type of the arithmetic.
  int rounding = 0;
  FixedPoint fixed_point = {};  // of all results of a step and of an evaluation
  bool caffe = false;
  // Above 0: running means of the weights, and of the running statistics, are kept in NAME/ema, for evaluation. This is
  // the decay at the end of its rise; the host starts the means from the weights and statistics.
  double ema_decay = 0;
  // Above 1: gradients are summed in NAME/sum over this many steps, those of this graph `weight` times: its samples by
  // those of a whole batch. The host sets `apply` to 1 in the last step: the update then uses the sums times `mean`, 1
  // by the weights that are in them, as if all samples had been one batch, and they start again; otherwise to 0. Where
  // only some targets count, a step weighs as many as those, and a variable has the sum of the weights.
  int64_t accumulate = 1;
  double weight = 1;
  // Whether this graph's step updates the weights. Otherwise it only adds to the sums where ranks sum apart, and
  // computes its cost alone elsewhere.
  bool updates = true;
  std::vector<std::string> histograms = {};  // of "W", "dW", "y" ...; see add_histograms()
  bool ranges = false;                       // the same arrays have output range/NAME; see add_histograms()
  bool gradient_norm = false;                // a training step has output gradient_norm
  // Where samples are pieces of streams, how many streams there are: a batch has a piece of each, but the last batch of
  // an epoch may have fewer. 0: as many as the batch.
  int64_t streams = 0;
  int64_t reset_period = 0;  // above 0, layers drop the states that they carry in each batch whose number it divides
  BatchShare share = {};     // of the batch, of which `batch` samples are this rank's; count 0: all of it
  bool cost_parts = false;   // a training step has output part/I, the mean cost of each output I
  DenseSplit dense = {};     // ranks share the weights of dense layers
  bool sharded = false;      // ranks share the rows of stored weights and what optimizers keep, and gather the weights
  bool shared_statistics = false;  // batch norm is over the whole batch, otherwise over each rank's share
  bool wide_gradients = false;     // ranks add up gradients of 16 bits in the type of the arithmetic
  int64_t blank = -1;              // Cost::blank()
  Freeze freeze = {};              // parameters that are not trained
  bool class_weights = false;      // the cost of a sample is times the weight of its class, in kClassWeights
  int player = 0;                  // of a rule; see Rule::players()
  // One for each target of the data set; empty: the data set has one target, for the last layer.
  std::vector<NetOutput> outputs = {};
  std::string carried_prefix = {};  // of variables that carry states; that of an evaluation is evaluation_prefix()
  // Changes of images before the net sees them. With any of these, their channels are last from there on.
  std::vector<const Augmentation*> augment = {};
};

// Whether accumulated gradients stay with the rank that computed them until an update needs their sum over all ranks.
// There are two graphs then, of steps that only add and of those that update. Histograms show the gradients of whole
// batches, which no rank has in between, and so does their norm.
inline bool sums_apart(const StepOptions& options, int ranks) {
  return ranks > 1 && options.accumulate > 1 && options.histograms.empty() && !options.gradient_norm;
}

// Whether layers begin at states of 0 in batch `index` of a pass, from 0.
inline bool begins_streams(int64_t index, int64_t reset_period) {
  return index == 0 || (reset_period > 0 && (index + 1) % reset_period == 0);
}

// How many targets the mean cost of a batch is over where only some count, as a number (1,1) of the graph; and how many
// a whole batch has at most.
struct CountedTargets {
  Value count;
  int64_t most = 1;
};

struct StepGraph {
  Graph graph;
  std::vector<Parameter> parameters;
  std::vector<LayerState> states;
  std::vector<const Optimizer*> optimizers;  // of rate/0, rate/1, ...
  std::vector<OutputForm> outputs;           // in the order of StepOptions::outputs, or the last layer's first
  // Output hist/NAME each.
  struct Histogram {
    std::string name;
    enum class Of { weights, gradients, outputs } of = Of::weights;
    int64_t elements = 0;  // of outputs 0: a shorter batch has fewer
    bool narrow = false;   // of a matrix that is stored in 16 bits: numbers too small for them are 0 by then
  };
  std::vector<Histogram> histograms;
  // Outputs that are the mean cost of each output of the net, without its weight, where the options have outputs.
  std::vector<std::string> output_costs;
  std::optional<CountedTargets> counted;  // of a training step
  int64_t views = 1;                      // of each sample, whose mean the outputs are
};

// Shape of one sample as the net gets it, images (C,H,W): that of the data, unless an augmentation cuts another. A
// config error where one does not suit the data.
Shape input_sample(const DataLayout& data, const StepOptions& options);

// Output x (N,H,W,C): the images of a training batch, augmented, in the range of the data set, not normalised.
Graph batch_graph(const DataLayout& data, const StepOptions& options);

// The images (views N,H,W,C) of a batch of an evaluation, augmented, in the range of the data set, not normalised.
Expr evaluated_images(Graph& graph, const DataLayout& data, const StepOptions& options);

// Outputs: cost (mean over the batch), finite (1 where cost and all gradients are), count where StepGraph has it. A
// config error where a MultiOptimizer names what no parameter belongs to.
StepGraph training_graph(const Network& network, const GradientSource& source, const Optimizer& optimizer,
                         const DataLayout& data, const StepOptions& options);
inline StepGraph training_graph(const Network& network, const Cost& cost, const Optimizer& optimizer,
                                const DataLayout& data, const StepOptions& options) {
  return training_graph(network, GradientSource{&cost, nullptr}, optimizer, data, options);
}

// A forward pass of a training batch that keeps nothing but the statistics of batch norms. Each becomes its mean over
// the batches of a pass, if the host sets kShareOfBatch to 1 / k for batch k, from 1 on. `states` are those that the
// graph changes: a frozen batch norm keeps its own.
StepGraph statistics_graph(const Network& network, const DataLayout& data, const StepOptions& options);

// Variable (classes): what the costs of samples of each class are multiplied by in training.
constexpr const char* kClassWeights = "class_weights";

// The same of the output in that place, where the options have outputs.
std::string class_weights_of(size_t output);

// Whether a variable has weights of classes.
bool has_class_weights(std::string_view variable);

// Whether a variable belongs to a training step as a whole, and not to a layer as LAYER/NAME does.
bool belongs_to_step(std::string_view variable);

// Names of variables that carry states through the evaluation of a set begin so, with a '/', as no layer's name does.
// No checkpoint has these variables.
inline std::string evaluation_prefix(std::string_view set) { return text("/", set, "/"); }
inline bool belongs_to_evaluation(std::string_view variable) { return variable.starts_with('/'); }

// The forward and backward passes of the same step without the update: outputs cost and grad/NAME. With gradients,
// cost has the penalties of layers. For bench.
StepGraph gradient_graph(const Network& network, const Cost& cost, const DataLayout& data, const StepOptions& options,
                         bool backward);

// Outputs: y (N,K), of several outputs one after the other, images (C,H,W) unless they are compared with samples that
// lie otherwise; with a cost and metrics also sums: cost (1), metric/I/J, and with a class for each step count (1), the
// steps that they are of. Without them, where steps have classes or targets are sequences of labels, predicted (N,T):
// the labels, -1 without one; and where sequences of different lengths have numbers for their steps, own (N): how many
// of y are not of padding. Input `weight` (N,1) says which samples count, so that a short last batch needs no
// program of its own. With a rule in place of the cost, it measures: metric/I/0 are the sums of its results.
StepGraph evaluation_graph(const Network& network, const Rule& rule, const DataLayout& data, int64_t set_size,
                           const StepOptions& options);
StepGraph evaluation_graph(const Network& network, const Cost* cost, const std::vector<const Metric*>& metrics,
                           const DataLayout& data, int64_t set_size, const StepOptions& options);

}  // namespace neon
