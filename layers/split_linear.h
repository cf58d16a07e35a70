// Dense layers whose weights are split over ranks (`parallel: {dense: model}`; Krizhevsky 2014). Each rank has some
// rows of W (nout, nin), and so computes some features of all samples of the batch. Gradients of the rows need no sum
// over ranks; samples and features are exchanged in their place.
#pragma once
#include "layers/layer.h"

namespace neon {

// Whether the product of x by nout rows is split: x are samples and no sequences, no layer shares the weights, and
// every rank gets as many rows.
bool is_split(const LayerContext& context, Expr x, int64_t nout);

// x (n, nin), this rank's samples -> (n, nout): all features of these samples. `parameter` is the whole W.
Expr split_product(LayerContext& context, Expr x, Parameter parameter);

}  // namespace neon
