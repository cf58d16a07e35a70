// The exchange between the ranks of a training step: gradients, the cost, and the states of layers.
#pragma once
#include "models/step_graph.h"

namespace neon {

// Puts the sum over all ranks in the place of each value, by exchanges of some values of one type each, in the order in
// which the values are made.
void exchange_in_buckets(Graph& graph, const std::vector<Value*>& values);

// Gives gradients, the cost and the updates of layers' states, each of them this rank's part, for the whole batch. The
// gradients are added up in their own type, or in that of the arithmetic (`wide_gradients`). Gradients of all rows of a
// gathered parameter become the gradients of this rank's rows. Gradients of other split parameters are whole already.
// Returns how many elements of these are not finite on any rank, one number; invalid where no parameter is split.
Value exchange_parts(StepGraph& step, LayerContext& context, std::vector<Value>& gradients, Value& cost);

// The same of the cost and the updates of layers' states alone, where ranks sum apart. Returns how many elements of any
// rank's gradients are not finite, one number.
Value exchange_counts(StepGraph& step, LayerContext& context, const std::vector<Value>& gradients, Value& cost);
// Gives the accumulated gradients of one rank, by parameter, for all ranks; of gathered parameters this rank's rows.
void exchange_sums(const StepGraph& step, const LayerContext& context, std::vector<Expr>& sums);

// The sum over ranks of what each has of it, where the parameter is split.
Expr over_ranks(const Parameter& parameter, Expr part);

}  // namespace neon
