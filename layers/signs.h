// Signs of the inputs of binary layers.
#pragma once
#include "layers/layer.h"

namespace neon {

// The signs of the numbers x of the array `given`. What Dropout has left out stays 0, and the other signs are divided
// by the share that stays: the evaluation has all signs. A config error where a layer between has mixed the numbers.
Expr signs_of(LayerContext& context, Value given, Expr x);

// Whether Dropout has left out some numbers of the array.
inline bool is_dropped(const LayerContext& context, Value given) { return context.dropped.count(given) > 0; }

// Notes what Dropout has left out of y, the images x with their channels last.
void move_dropped(LayerContext& context, Expr x, Expr y);

// Notes what Dropout has left out of y, which a layer without weights makes of these inputs.
void pass_dropped(LayerContext& context, const Layer& layer, const std::vector<Expr>& inputs, Expr y);

}  // namespace neon
