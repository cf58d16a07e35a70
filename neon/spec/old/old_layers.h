// Keys and parameters that layers of neon 0.9 share.
#pragma once
#include <algorithm>

#include "neon/spec/notation.h"
#include "neon/spec/old/old_translation.h"

namespace neon {

// Keys of every layer, and of those with weights, beside the given.
OldKeys old_layer_keys(OldKeys own);
OldKeys old_weight_keys(OldKeys own);

// Initializer, bias, batch norm, name, learning rules and activation of a layer with weights.
void finish_old_weights(OldTranslation& t, const OldObject& object, OldResult& out, bool can_have_bias);
// Notes the activation, and leaves Identity out.
void drop_linear(OldTranslation& t, OldResult& out);

}  // namespace neon
