// Keys and parameters that models of neon 0.9 share.
#pragma once
#include "neon/spec/old/old_layers.h"

namespace neon {

// Keys of every model that is a list of layers, beside the given.
OldKeys old_model_keys(OldKeys own);
// Layers, cost, optimizer, checkpoints and epochs.
void finish_old_model(OldTranslation& t, const OldObject& object, OldResult& out);

}  // namespace neon
