// Parts that the layers share which normalise each sample by itself: LayerNorm, RMSNorm, GroupNorm, InstanceNorm.
#pragma once
#include "layers/layer.h"

namespace neon {

// NAME/gamma or NAME/beta (features), in the type of the arithmetic, which begins as `fill`.
Expr norm_parameter(LayerContext& context, const char* part, double fill, int64_t features,
                    const std::string& layer_class);

// x (N,...,C) in the type of the arithmetic -> x times NAME/gamma (C), and with `shift` plus NAME/beta (C), in
// context.dtype.
Expr scaled_and_shifted(LayerContext& context, Expr x, bool shift, const std::string& layer_class);

// x in the type of the arithmetic, minus its mean over `axes`, by its deviation over them. Throws a config error where
// `axes` hold a single number, which is its own mean.
Expr normalized_over(LayerContext& context, Expr x, std::vector<int64_t> axes, double eps);

}  // namespace neon
