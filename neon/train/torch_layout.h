// How PyTorch's arrays lie, and how a net's do: filters (K,C,R,S) are (K,R,S,C) here, and a dense layer after images
// has its columns in the order (C,H,W), here (H,W,C).
#pragma once
#include "layers/layer.h"

namespace neon {

// Whether `p` are the filters of a convolution, or of a transposed one.
bool are_filters(const Parameter& p);

// The shape that PyTorch has for the array `p`.
Shape torch_shape(const Parameter& p);

// PyTorch's filters (K,C,R,S) as (K,R,S,C), those of sequences and of volumes likewise; of a transposed convolution
// (C,K,R,S) as (C,R,S,K).
Tensor with_filter_channels_last(const Tensor& filters);
// W (nout, C H W) as (nout, H W C) for `images` (H,W,C).
Tensor with_columns_channels_last(const Tensor& weights, const Shape& images);

}  // namespace neon
