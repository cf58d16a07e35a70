// Signs of the inputs of binary layers.
#pragma once
#include "layers/layer.h"

namespace neon {

// The signs of the numbers x of the array `given`. What Dropout has left out stays 0, and the other signs are divided
// by the share that stays: the evaluation has all signs.
Expr signs_of(const LayerContext& context, Value given, Expr x);

// Whether Dropout has left out some numbers of the array.
inline bool is_dropped(const LayerContext& context, Value given) { return context.dropped.count(given) > 0; }

}  // namespace neon
