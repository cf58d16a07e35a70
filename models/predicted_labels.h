// The sequences of labels that a net predicts, where its targets are labels of steps or sequences of labels.
#pragma once
#include "models/batch.h"

namespace neon {

// The likeliest class of each step of y (N,T,K) as (N,T) i32, -1 for none. Steps of padding say nothing. With a `blank`
// of 0 or more, the class of CTC for no label, neither it nor what repeats the step before says anything.
Value predicted_labels(LayerContext& context, Expr y, int64_t blank);
// The same beside the labels of a batch: where those are of steps, the net predicts nothing at steps without a label.
Value predicted_in_batch(LayerContext& context, const Batch& batch, Expr y, int64_t blank);

}  // namespace neon
