// The sequences of labels that a net predicts, where its targets are labels of steps or sequences of labels.
#pragma once
#include "models/batch.h"

namespace neon {

// The likeliest class of each step of y (N,T,K) as (N,T) i32, -1 for none. Steps of padding say nothing. With a `blank`
// of 0 or more, the class of CTC for no label, neither it nor what repeats the step before says anything.
Value predicted_labels(LayerContext& context, Expr y, int64_t blank);
// The labels that a decoder predicted itself, where there is one, otherwise the former. Nothing stands behind the class
// that ends a sequence, nor that class.
Value all_predicted(LayerContext& context, const DataLayout& data, Expr y, int64_t blank);

// Both sequences that metrics compare, (N,T) and (N,L). Where labels are of steps and there is no decoder, the net
// predicts nothing at steps without a label.
struct ComparedLabels {
  Expr predicted, labels;
};
ComparedLabels compared_labels(LayerContext& context, const DataLayout& data, const Batch& batch, Expr y,
                               int64_t blank);

}  // namespace neon
