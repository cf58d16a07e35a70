// The cost of a classifier whose outputs ranks split (`parallel: {classifier: model}`; Shoeybi et al. 2019).
#pragma once
#include "models/batch.h"
#include "transforms/cost.h"

namespace neon {

// The cost (rows,1) of this rank's samples. Ranks exchange four numbers for each sample: the largest of a rank's
// outputs before the softmax, the sum of their exponentials, the output at the label where it is the rank's, and their
// sum. A config error where y is no softmax of split outputs, the cost takes more than these, or targets are no labels.
Expr split_cost(LayerContext& context, const DataLayout& data, const Cost& cost, Expr y, const Batch& batch,
                const StepOptions& options);

}  // namespace neon
