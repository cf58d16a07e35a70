// Dense layers whose weights are split over ranks (`parallel: {dense: model}`; Krizhevsky 2014). Each rank has some
// rows of W (nout, nin), and so computes some features of all samples of the batch. Gradients of the rows need no sum
// over ranks; samples and features are exchanged in their place.
//
// Such features (features of this rank, samples of all ranks) stay as they are through what treats each of them by
// itself: biases, activations, dropout. The next split layer gathers the features of all ranks; any other layer gets
// all features of this rank's samples.
#pragma once
#include "layers/layer.h"
#include "transforms/activation.h"

namespace neon {

// Whether the product of x by nout rows is split: x are samples and no sequences, no layer shares the weights, and
// every rank gets as many rows.
bool splits(const LayerContext& context, Expr x, int64_t nout);

// x, this rank's samples (n, ...) or split features -> split features. `parameter` is the whole W.
Expr split_product(LayerContext& context, Expr x, Parameter parameter);

// The number of features of a sample, of all ranks.
int64_t features_of(const LayerContext& context, Expr x);

// Makes a parameter with a row for each feature of x this rank's rows of it, where x are split features. Returns it as
// it is added to x or multiplied by it.
Expr feature_parameter(LayerContext& context, Expr x, Parameter parameter);

// y, made of x element by element, as split features where x are.
Expr as_split(LayerContext& context, Expr x, Expr y);

// Uniform numbers for split features, as draw_for_samples() gives them to whole samples. Invalid where a rank has no
// sample of the batch.
Expr draw_for_features(LayerContext& context, Expr x, const std::string& stream);

// Whether each element of the result comes from one element, and the activation neither learns nor draws.
bool is_of_elements(const Activation& activation, DType dtype);

}  // namespace neon
