// A net's outputs as costs and metrics see them, and the outputs of a graph that these make.
#pragma once
#include "models/batch.h"

namespace neon {

// y (N, ...) as rows (N,K) in f32, or f64 for f64, in which costs and metrics are computed whatever the net's type.
Expr wide(Expr y);
// The targets that outputs are compared with: a mask may stand behind them.
Expr compared(const Cost* cost, const DataLayout& data, Expr t);
// The same data for a cost, which may mask targets, and compare the steps of samples with themselves. A config error
// where numbers with a mask are odd.
DataLayout layout_for(const Cost* cost, const DataLayout& data);
// Puts the masks of all steps behind the numbers of all steps, where a target (T,2K) is a row to the cost.
void put_masks_behind(const DataLayout& data, Batch& batch);
// Whether y (N,T,K) are numbers for each step of sequences of different lengths, as the targets are.
bool gives_numbers_of_steps(const LayerContext& context, const DataLayout& data, Expr y);
// Outputs (N,T,K) of the net end with the sequences of the samples. A net that makes fewer steps, and more of them
// again, may give more than a sequence has.
void end_with_sequences(LayerContext& context, const DataLayout& data, Expr y);
// Steps count where there are a target and an output of the net: neither in padding nor behind the last step that the
// net gives. Targets that are numbers of steps become rows (N T,K).
void count_steps(LayerContext& context, const DataLayout& data, Expr y, Batch& batch);
// All outputs of the net (N,...), the last layer's first. With a target for each pixel or step as (N H W,K) or (N T,K):
// a pixel or step is to costs and metrics what a sample is otherwise.
std::vector<Expr> all_outputs(const LayerContext& context, const DataLayout& data, Expr y);
// A config error where the cost is for targets of another kind than the data's.
void check_kind(const DataLayout& data, const Cost& cost);
// The cost of each row of the targets, (rows,1), by all outputs of the net; of each sample, where targets are sequences
// of labels.
Expr cost_of(const LayerContext& context, const DataLayout& data, const Cost& cost, Expr y, const Batch& batch);
// The costs that cost_of() adds up, one for each output of the net, without their weights; of sequences of labels the
// one.
std::vector<Expr> costs_of_outputs(const LayerContext& context, const DataLayout& data, const Cost& cost, Expr y,
                                   const Batch& batch);
// The same of a net with a target for each output, times the weights of the classes of those that have some.
std::vector<Expr> weighted_costs_of_outputs(const LayerContext& context, const DataLayout& data, const Cost& cost,
                                            Expr y, const Batch& batch, const StepOptions& options);
// The costs of rows of a training batch times the weights of their classes, (rows,1).
Expr weighted_cost(const Batch& batch, Expr each);
// Gives a training batch its count, over all ranks.
void sum_counts(Batch& batch, const BatchShare& share);
// The mean of the costs of a training batch, over all targets that count. Several ranks compute a
// part of the mean each: the sum of all parts is the mean over the whole batch.
Expr mean_cost(const Batch& batch, Expr each, const BatchShare& share);

// Targets, cost and metrics of a batch.
struct Measured {
  const DataLayout& data;
  const Batch& batch;
  const Cost* cost;
  const std::vector<const Metric*>& metrics;
  const StepOptions& options;
};
// Adds the input `weight` and the outputs count, cost and metric/I/J of evaluation_graph().
void add_measures(Graph& graph, LayerContext& context, const Measured& by, Expr y);

}  // namespace neon
