// The order of axes of images: files and people often have channels first, nets have them last.
#pragma once
#include "neon/core/tensor.h"

namespace neon {

// x (n,C,H,W) as (n,H,W,C)
Tensor with_channels_last(const Tensor& x);

}  // namespace neon
