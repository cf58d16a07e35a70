// Dense layers whose weights are split over ranks (`parallel: {dense: model}`; Krizhevsky 2014). Each rank has some
// rows of W (nout, nin), and so computes some features of all samples of the batch. Gradients of the rows need no sum
// over ranks; samples and features are exchanged in their place.
//
// Such features (features of this rank, samples of all ranks) stay as they are through what treats each of them by
// itself: biases, activations, dropout. The next split layer gathers the features of all ranks; any other layer gets
// all features of this rank's samples.
//
// In pairs (`parallel: {dense: pairs}`; Shoeybi et al. 2019) the next split layer has some columns of W instead, and so
// takes the features that are there. Ranks add up its products, each rank for its own samples. Layers that end with a
// product of their own outputs, as attention and gated layers do, are pairs by themselves (layers/projection.h).
#pragma once
#include "layers/layer.h"
#include "transforms/activation.h"

namespace neon {

// Whether the product of x by nout rows is split: x are samples, in pairs steps of sequences, too; no layer shares the
// weights; and every rank gets as many rows.
bool splits(const LayerContext& context, Expr x, int64_t nout);

// Whether a layer that is a pair by itself is split: its first products make `units` outputs each, or whole groups of
// these, of x, samples or steps.
bool splits_inside(const LayerContext& context, Expr x, std::initializer_list<int64_t> units);

// x, this rank's samples (n, ...) or split features -> split features, or behind a pair (n, nout). `parameter` is the
// whole W.
Expr split_product(LayerContext& context, Expr x, Parameter parameter);

// Split features of this rank's samples x by each W. The samples of all ranks are gathered once.
std::vector<Expr> split_products(LayerContext& context, Expr x, std::vector<Parameter> parameters);

// The lengths (n) i32 of this rank's sequences -> those of the samples in each part of x, split features of steps.
// Invalid ones stay so.
std::vector<Value> lengths_of_parts(LayerContext& context, Value lengths, Expr x);

// Whether ranks share the rows of a table for x (N,T) tokens: no layer shares it, and every rank gets some.
bool splits_table(const LayerContext& context, Expr x, int64_t rows);

// The rows of a table for this rank's tokens (n): each rank looks up those that it has for all ranks' tokens, and the
// sum over ranks goes back to these. `parameter` is the whole table.
Expr split_lookup(LayerContext& context, Expr tokens, Parameter parameter);

// The number of features of a sample, of all ranks.
int64_t features_of(const LayerContext& context, Expr x);

// Makes a parameter with a row for each feature of x this rank's rows of it, where x are split features. Returns it as
// it is added to x or multiplied by it.
Expr feature_parameter(LayerContext& context, Expr x, Parameter parameter);

// make(x), of x element by element; of each part of x where x are split features.
template <typename Make>
Expr of_each_part(LayerContext& context, Expr x, Make&& make) {
  if (!context.split.has(x)) return make(x);
  SplitParts split = context.split.of(x);
  for (SplitPart& part : split.parts) part.x = make(part.x);
  return context.split.add(std::move(split));
}

// make(x, y), of two arrays of the same samples and features, element by element.
template <typename Make>
Expr of_both_parts(LayerContext& context, Expr x, Expr y, Make&& make) {
  if (!context.split.has(x)) return make(x, y);
  SplitParts split = context.split.of(x);
  const SplitParts& other = context.split.of(y);
  for (size_t t = 0; t < split.parts.size(); ++t) split.parts[t].x = make(split.parts[t].x, other.parts[t].x);
  return context.split.add(std::move(split));
}

// Uniform numbers for each part of split features, as draw_for_samples() gives them to whole samples.
std::vector<Expr> draws_for_features(LayerContext& context, Expr x, const std::string& stream);

// Whether each element of the result comes from one element, and the activation neither learns nor draws.
bool is_of_elements(const Activation& activation, DType dtype);

}  // namespace neon
