// Layers describe, they don't compute: a layer adds ops to a graph. It has parameters and a forward; no class has
// a backward.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backends/graph/expression.h"
#include "backends/graph/images.h"
#include "backends/graph/rank_rows.h"
#include "layers/dense_split.h"
#include "layers/freeze.h"
#include "layers/initializer.h"
#include "layers/split_features.h"
#include "neon/core/axes.h"
#include "neon/core/batch_share.h"
#include "neon/core/registry.h"
#include "transforms/boxes.h"

namespace neon {

// One of several ranks has this part of an array that they share: rows, or with axis 1 columns.
struct SharedPart {
  int axis = 0;
  int64_t first = 0, all = 0;  // all 0: the array is here as a whole
};

// One trained array. Layers ask for it by naming the fields: {.name = ..., .layer = ..., .shape = ...}.
struct Parameter {
  std::string name = {};         // "Affine_0/W"
  std::string layer = {};        // "Affine_0", or the part's own name: "Affine_0_bias"
  std::string layer_class = {};  // "Linear", "Bias", "BatchNorm": what MultiOptimizer may name
  std::string owner = {};        // "Affine_0": the layer of the spec, which asked for it
  double clip = 0;               // above 0: the largest element after an update
  Shape shape = {};
  const Initializer* initializer = nullptr;  // null: every element begins as `fill`
  double fill = 0;
  Fan fan = {};              // for initializers that scale by it, of one block
  int64_t blocks = 1;        // of its rows, each filled by itself: of a cell's gates
  std::string vectors = {};  // a file of word vectors, from which rows begin in place of the initializer's
  SharedPart part = {};      // `shape` is that of this rank's part
  bool gathered = false;     // with shared rows: a step gathers all of them, and the gradient is of all
  int token_axis = -1;       // the axis with numbers for each token of the data set; -1: no axis
  bool trained = true;       // false, too, where the initializer freezes what it fills, or the spec its name
  bool asked = true;         // whether the layer asks for training
  bool is_split() const { return part.all > 0; }
  Shape whole_shape() const { return is_split() ? shape.with(part.axis, part.all) : shape; }
  bool by_place() const { return initializer && initializer->of_matrix() && fan.filters.rank() > 0; }
  int64_t block_count() const { return by_place() ? whole_shape()[0] : blocks; }
  Shape block() const {
    return by_place() ? fan.filters : blocks == 1 ? whole_shape() : shape.with(0, whole_shape()[0] / blocks);
  }
};

// An array that forward passes keep up to date by themselves (running statistics).
struct LayerState {
  std::string name;
  Shape shape;
  double fill = 0;
  std::string owner = {};  // the layer of the spec, which asked for it
};

// The parameters that layers take from earlier layers.
class Sharing {
 public:
  // For the layer that describes itself next: `from` is the name of the other layer, "" for none. Layers of the same
  // class share all parameters, others W alone.
  void begin(const std::string& from, bool same_class) {
    from_ = from, same_class_ = same_class, taken_ = 0, unused_.clear();
  }
  // Layers of one class share W alone, too: a transposed layer has other biases.
  void share_weights_alone() { same_class_ = false; }
  // The one of `all` that takes the place of p, or null. Throws a config error where the other layer has none of its
  // shape, or p asks for values or training of its own.
  const Parameter* find(const Parameter& p, const std::string& layer, const std::vector<Parameter>& all);
  bool has_taken() const { return taken_ > 0; }
  // An initializer that a spec gives to the layer, and the parameter of the other layer that it does not fill.
  struct Unused {
    const Initializer* initializer;
    std::string array, owner;
    const Initializer* filler;  // null: every element begins as one number
  };
  const std::vector<Unused>& unused() const { return unused_; }
  // Names of layers that others take parameters from.
  void set_lenders(std::set<std::string> names) { lenders_ = std::move(names); }
  // Whether the layer that describes itself takes parameters, or others take its.
  bool concerns(const std::string& layer) const { return !from_.empty() || lenders_.contains(layer); }

 private:
  std::string from_;
  bool same_class_ = false;
  int taken_ = 0;
  std::vector<Unused> unused_;
  std::set<std::string> lenders_;
  std::map<std::string, std::string> names_;  // the name that a shared parameter would have, and the one that it has
};

// The steps of a sequence on which a layer's output for a step depends, otherwise than through carried states.
enum class Sight {
  step,    // that step alone
  kept,    // those before, too, or their number; the layer keeps them where a text goes on (LayerContext::place)
  before,  // those before, too
  any,     // all steps
};

// How a layer treats the numbers that a Dropout has left out of its input.
enum class WayOfZeros {
  kept,   // each number of the output is made of the input's number in the same place
  moved,  // the output's numbers are numbers of the inputs; the layer finds their places for masks, too
  cut,    // the same, of the first input alone
  mixed,  // a number of the output is made of several
  added,  // it is a sum over branches: what one has left out another may have
};

// States that layers of cells pass on within a graph, in place of carried ones: those of an encoder to the decoder, and
// from each decoded step to the next.
class PassedStates {
 public:
  // The state `name` of a layer: the one that was left under this name, or the next of those that an encoder left; an
  // invalid Expr: it begins at 0. A config error where an encoder's state does not fit.
  Expr begin(const std::string& name, const Shape& shape);
  void leave(const std::string& name, Expr state);
  // For the layers of a decoder: its cells, in their order, begin with the states of the encoder's cells; those of both
  // directions count as one, with both states side by side. `connections` has the number of a cell for each of the
  // decoder's, -1 for 0; empty: the same number.
  PassedStates for_decoder(const std::vector<int64_t>& connections) const;
  // The next step of a decoder: every state is the one that the step before left.
  PassedStates for_next_step() const;
  // The same states of other rows: `rows` (n) i32 are rows of these. The encoder's and those given are meant.
  PassedStates of_rows(Graph& graph, Value rows) const;
  // Throws a config error where connections are more or fewer than the decoder's cells.
  void check_connections() const;

 private:
  struct Cell {
    std::string name;
    std::map<std::string, Expr> states;  // "h", "c"
  };
  Expr of_encoder(const std::string& cell, const std::string& state, const Shape& shape);
  std::vector<Cell> left_, encoder_;
  std::map<std::string, Expr> given_;
  std::vector<int64_t> connections_;
  std::vector<std::string> begun_;  // cells of the decoder that asked for their first state
};

// Predictions of objects by a layer: y (N,P,K+5), and the same in parts.
struct PredictedBoxes {
  Expr y;
  BoxOutputs outputs;
  DetectionParams chosen;
};

struct LayerOutput {
  std::string layer;
  Expr y;  // (N,...), or features that ranks split
};

// A network collects this while its layers describe themselves.
class LayerContext {
 public:
  LayerContext(Graph& graph, bool training, DType dtype, uint64_t seed, bool masters = true)
      : graph(graph),
        training(training),
        dtype(dtype),
        arithmetic_dtype(compute_type(dtype)),
        master_dtype(masters ? arithmetic_dtype : dtype),
        seed(seed) {}
  Graph& graph;
  const bool training;
  const DType dtype;             // of activations and weights in products
  const DType arithmetic_dtype;  // f32, or f64 for f64: of sums and of states
  const DType master_dtype;      // of stored parameters: `dtype` itself without masters
  const uint64_t seed;
  Freeze freeze;                       // the parameters that the step does not train
  BatchShare share;                    // of the batch, where others compute the rest; count 0: all of it
  DenseSplit dense;                    // ranks share the weights of dense layers
  bool sharded = false;                // ranks share the rows of stored weights, and gather them for a step
  bool shared_statistics = false;      // statistics are those of the whole batch, otherwise of this share
  bool wide_gradients = false;         // ranks add up gradients of 16 bits in the type of the arithmetic
  bool caffe = false;                  // --caffe: dropout scales while training
  bool data_channels_last = false;     // images come from the data set as (N,H,W,C)
  bool outputs_channels_last = false;  // and go to the cost so
  ImageArea image = {0, 0};            // rows and columns of samples that are images
  Axes data_axes;                      // of samples that are sequences, (N,T,F) or (N,T); otherwise empty
  Value data_lengths;                  // (N) i32 of sequences of different lengths; otherwise invalid
  Value filled_lengths;  // (N) i32 of pieces of texts, of which steps behind the last label are filled up; or invalid
  int64_t streams = 0;   // that samples are pieces of, each of the batch of another; 0: of none
  std::string carried_prefix;      // of the names of variables that carry states: there is one for each set
  int64_t classes = 0;             // of the data set; 0: it has none
  int64_t end_class = -1;          // that ends the labels of a target; -1: no class does
  int64_t tokens = 0;              // the number of different tokens, where samples are tokens
  int64_t texts = 1;               // that a sample of tokens has
  int64_t line_end = -1;           // the token between several texts; -1: there is one text
  Value place;                     // (N) i32 where texts go on: the place of the one step of each; or invalid
  int64_t places = 0;              // the most steps that these texts have
  bool goes_on = false;            // a text goes on: all cells keep their states from step to step
  PassedStates* passed = nullptr;  // while the layers of an encoder or a decoder describe themselves
  // A number, while statistics of batches are measured anew: the share that this batch has in their means; or without
  // a value.
  Expr share_of_batch;
  bool again = false;        // layers describe themselves once more: they have their parameters
  Expr memory;               // for a decoder's layers: the encoder's states (N,T,F); or without a value
  Value target_labels;       // (N,L) i32 where steps have labels and the targets are known; or invalid
  int64_t target_steps = 0;  // the most labels of a target
  Value label_lengths;       // (N) i32: how many labels a target has, where each step of a sequence has one; or invalid
  Value target_boxes;        // (N,M,6) of the objects in the samples, in training; or invalid
  // Columns of samples (N,F) that are the numbers of rows of tables: the place among the F numbers, and the table.
  struct CodedColumn {
    std::string name;
    int64_t place = 0, rows = 0, width = 0;
  };
  std::vector<CodedColumn> coded_columns;
  bool decodes = false;      // a decoder is to predict labels step by step
  Value decoded;             // (N,L) i32: these predictions; or invalid
  std::string layer;         // name of the layer that is describing itself
  int64_t sequences = 0;     // among the samples of its inputs; 0 where these have no steps
  int64_t weights_read = 0;  // parameters and states that layers have asked for
  Sharing sharing;
  std::string shapes;  // from the samples to the net's outputs, layer by layer, for messages

  // A parameter of this layer, in `dtype`; or in another type, as in master_dtype, in which it is stored. A layer that
  // shares gets the parameter of the layer that it shares with.
  Expr parameter(Parameter p) { return parameter(std::move(p), dtype); }
  Expr parameter(Parameter p, DType type);
  // What MultiOptimizer calls a part of a layer, where a spec has a name for it.
  void name_part(const std::string& part, const std::string& given) {
    if (!given.empty()) part_names_[part] = given;
  }
  // A state of this layer, in arithmetic_dtype, and what it becomes after a training step. To a layer that describes
  // itself again, the state is what the time before has made of it.
  Expr state(const std::string& name, const Shape& shape, double fill);
  void update_state(Expr state, Expr value);
  // A state (N,...) that the layer kept of the batch before, in which each stream had the piece before this one: 0
  // where streams begin, and always without streams.
  Expr carried(const std::string& name, DType type, const Shape& shape);
  // Keeps that for the batch to come.
  void carry(const std::string& name, Expr value);
  Expr expr(Value value) { return {graph, value}; }

  // The meaning of the axes of x. Where no layer has set them, arrays of four axes are images (N,H,W,C), of five
  // volumes (N,D,H,W,C), of others all axes but the first are features.
  Axes axes(Expr x) const;
  bool has_axes(Expr x) const { return axes_.count(x) > 0; }  // that a layer has set
  void set_axes(Expr x, Axes axes) { axes_[x] = std::move(axes); }
  // Gives `to`, the same numbers in the same places, the axes and lengths of `from`.
  void keep_axes(Expr from, Expr to);
  // Whether x is (N,T,F): steps in the order of time, a row of features each.
  bool is_sequence(Expr x) const;
  // Whether x is (N,T) tokens, whole numbers that a layer looks up.
  bool are_tokens(Expr x) const;
  void mark_sequence(Expr x) { set_axes(x, {Axis::sample, Axis::time, Axis::feature}); }
  // Marks y as a sequence of the steps of x, a sequence or tokens: padding of x is padding of y.
  void mark_sequence(Expr y, Expr x);
  // The lengths (N) i32 of the sequences x, where they differ; otherwise an invalid Value. Steps from a length on are
  // padding, which changes no result.
  Value lengths(Expr x) const;
  void set_lengths(Expr x, Value lengths) { lengths_[x] = lengths; }
  // Images and volumes have their channels last in the graph. People know them, and some data sets give them, with
  // channels first: (N,C,H,W).
  void mark_channels_first(Expr x);
  Expr channels_last(Expr x) const;
  Expr channels_first(Expr x) const;
  // The shape of one sample, as people know it: (C,H,W).
  Shape sample_shape(Expr x) const;

  // The numbers that a Dropout has left out of an array, for layers to which a 0 is like other numbers
  // (layers/signs.h).
  struct Dropped {
    double keep = 1;  // the share of the numbers that stay
    // 1 for each number that stays, 0 for the others; or, with a `keep` of 1 here, 1 / keep for each, where a layer has
    // joined numbers of several shares. The mask of features that ranks split is split, too, and may stay so when they
    // are made whole. Without a value: see `by`.
    Expr mask;
    std::string layer;  // the Dropout
    // The layer whose outputs are made of several numbers each, so that no mask says what is left out.
    std::string by = {};
  };
  // All rows of a parameter whose rows ranks share, as a step has gathered them in one type.
  struct Gathered {
    std::string parameter;
    Value whole;
  };
  SplitFeatures split;
  std::vector<Gathered> gathered;
  std::vector<Parameter> parameters;  // without those that are shared
  std::vector<LayerState> states;
  std::vector<Assignment> state_updates;
  std::map<Value, Dropped> dropped;  // outputs of Dropout, and what layers without weights make of them; in training
  std::vector<Expr> penalties;       // numbers (1,1), in training: what is minimised beside the cost
  std::vector<Assignment> carried_updates;  // in every step, of an evaluation, too
  std::vector<std::string> output_layers;   // whose outputs are the net's; empty: the last layer, and a Tree's branches
  std::vector<Expr> more_outputs;           // of the net, beside the first
  std::vector<LayerOutput> layer_outputs;   // in the order of the layers; of one that runs several times all
  std::optional<PredictedBoxes> boxes;      // of the last layer, where it predicts objects
  bool tree_outputs = false;                // they are results of their own, not only there for training

 private:
  Value carrier(const std::string& name, DType type, const Shape& shape);
  bool is_channels_first(Expr x) const;
  std::map<Value, Value> lengths_;
  std::map<Value, Axes> axes_;  // of values that are no images and volumes with their channels last
  std::map<std::string, std::string> part_names_;
};

// The rows of each rank of a gathered parameter.
RankRows gathered_rows(const Parameter& p, const BatchShare& share);

// Whether the step trains this stored parameter.
bool is_trained(const LayerContext& context, Expr stored);

// All features of this rank's samples, or steps of sequences, of a layer's output; x itself where ranks do not split
// it.
Expr own_samples(LayerContext& context, Expr x);

// The end of the name of a variable that carries a state from batch to batch.
constexpr const char* kCarried = "/carried";
// The number of the step record that is 1 where streams begin, otherwise 0.
constexpr const char* kStreamStart = "stream_start";
// The number behind LayerContext::share_of_batch.
constexpr const char* kShareOfBatch = "share_of_batch";

// Random numbers for samples (N,...) or steps (N T,...): the numbers that these samples have in the whole batch. Where
// the layer's inputs are sequences, a step has the same numbers however many steps follow.
Expr draw_for_samples(LayerContext& context, const Shape& shape, const std::string& stream);

class Container;

class Layer {
 public:
  static constexpr const char* kCategory = "layer";
  struct Common {
    std::string name;
    std::vector<std::string> inputs;
    std::string share;
    static void describe(auto&& p) {
      p("name", &Common::name,
        "Name for messages, MultiOptimizer, `inputs` and --set. Default: Class_N, N counting from 0.");
      p("inputs", &Common::inputs,
        "Earlier layers to take outputs from, by name; data: the samples. Default: the layer before.");
      p("share", &Common::share,
        "Name of an earlier layer whose weights this one uses, too, as that layer's init and bias fill them. Layers of "
        "one class share all arrays that both have, layers of two classes W alone. Running statistics are not shared.");
    }
  };
  Common common;

  virtual ~Layer() = default;
  virtual const void* params_address() const = 0;
  // This as a layer that is made of others; null when it is not.
  virtual Container* container() { return nullptr; }
  // x (N, ...) -> y (N, ...), images (N,H,W,C) and volumes (N,D,H,W,C). Where y has the sizes of a sequence x but for
  // its features, it is one too, unless the layer sets other axes.
  virtual Expr forward(LayerContext& context, Expr x) const = 0;
  // The most inputs that the layer takes. One of several has forward_all(), too.
  virtual int most_inputs() const { return 1; }
  virtual Expr forward_all(LayerContext& context, const std::vector<Expr>& inputs) const {
    return forward(context, inputs[0]);
  }
  // Whether x may also be images as the data set gives them, channels first: to such a layer they are rows of numbers.
  virtual bool takes_channels_first() const { return false; }
  // Whether x may be tokens (N,T).
  virtual bool takes_tokens() const { return false; }
  // Whether x may also be split features.
  virtual bool takes_split() const { return false; }
  // How numbers that a Dropout has left out of the inputs get into the output.
  virtual WayOfZeros way_of_zeros() const { return WayOfZeros::mixed; }
  virtual Sight sight() const { return Sight::step; }
  // A parameter that is given and has no effect beside the others: "rotary_base: 100 has no effect without ..."; or "".
  virtual std::string idle() const { return ""; }
  // Whether it is a convolution or attention, for which a GPU has a library of its own.
  virtual bool has_own_library() const { return false; }
};

// The layer's outputs for inputs in either order of axes.
Expr apply_layer(const Layer& layer, LayerContext& context, const std::vector<Expr>& inputs);

// Makes `to` a sequence where `from` is one of as many steps, unless `to` has axes already.
void keep_steps(LayerContext& context, Expr from, Expr to);

// x (N, ...) as a matrix (N, features)
Expr as_rows(Expr x);

// For a layer that treats each step of a sequence by itself, as a sample: a sequence (N,T,F) as (N T,F); another x as
// it is, and back.
Expr as_steps(const LayerContext& context, Expr x);
// y (N T, ...) made of as_steps(x), as a sequence (N,T, ...); y itself where x is no sequence.
Expr in_sequence(LayerContext& context, Expr y, Expr x);

// All steps up to the one in x (N,1,...), each at its place: (N,places,...). Only where texts go on.
Expr kept_steps(LayerContext& context, const std::string& name, Expr x);

// 1 for each step of the sequences x before their lengths and 0 for padding, (N,T,1) in f32 or f64; without a value
// where no sequence is padded.
Expr unpadded(LayerContext& context, Expr x);
// The same; for a sequence whose lengths nobody knows, 0 for the steps that fill up the last piece of a text.
Expr unfilled(LayerContext& context, Expr x);

}  // namespace neon
