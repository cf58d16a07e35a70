// How PyTorch's arrays lie, and how a net's do: filters (K,C,R,S) are (K,R,S,C) here, and a dense layer after images
// has its columns in the order (C,H,W), here (H,W,C).
#pragma once
#include <optional>

#include "layers/layer.h"

namespace neon {

// Whether `p` are the filters of a convolution, or of a transposed one.
bool are_filters(const Parameter& p);

// The shape that PyTorch has for the array `p`.
Shape torch_shape(const Parameter& p);

// The images (H,W,C), or volumes (D,H,W,C), whose numbers are the columns of the weights of the dense layer `p`;
// nothing where its inputs are no images with their channels last. `data_channels_last` says how the samples lie.
std::optional<Shape> images_before(const Graph& graph, const Parameter& p, bool data_channels_last);

// Whether the weights `p` of a dense layer are (nin, nout), as `transpose: true` has them.
bool lie_transposed(const Graph& graph, const Parameter& p);

// The share of inputs that a Dropout right before the layer of the weights `p` keeps, where the layer gets them without
// a scale in training, and scaled by this share in the evaluation; 1 otherwise. PyTorch divides by the share in
// training.
double kept_before(const Graph& graph, const Parameter& p);

// The number that the batch norm with this `gamma` adds to the variance; nothing where it has none, as ShiftBatchNorm.
std::optional<double> epsilon_of(const Graph& graph, const std::string& gamma);

// PyTorch's filters (K,C,R,S) as (K,R,S,C), those of sequences and of volumes likewise; of a transposed convolution
// (C,K,R,S) as (C,R,S,K).
Tensor with_filter_channels_last(const Tensor& filters);
// W (nout, C H W) as (nout, H W C) for `images` (H,W,C).
Tensor with_columns_channels_last(const Tensor& weights, const Shape& images);

}  // namespace neon
