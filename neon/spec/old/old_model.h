// Keys and parameters that models of neon 0.9 share.
#pragma once
#include "neon/spec/old/old_layers.h"

namespace neon {

// Keys of every model that is a list of layers, beside the given.
OldKeys old_model_keys(OldKeys own);
// Names of checkpoints, and when they are written.
void translate_old_saving(OldTranslation& t, const OldObject& model);
// Layers, cost, optimizer, checkpoints and epochs.
void finish_old_model(OldTranslation& t, const OldObject& object, OldResult& out);

}  // namespace neon
