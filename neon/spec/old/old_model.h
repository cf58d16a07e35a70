// Keys and parameters that models of neon 0.9 share.
#pragma once
#include <functional>

#include "neon/spec/old/old_layers.h"

namespace neon {

// Keys of every model that is a list of layers, beside the given.
OldKeys old_model_keys(OldKeys own);
// Names of checkpoints, and when they are written.
void translate_old_saving(OldTranslation& t, const OldObject& model);
// The layers between the first and the last of a list, which are of data and a cost; none after a problem. `after` is
// called when each of them has been added.
using AfterOldLayer = std::function<void(const OldNode& node, Setting& layers)>;
Setting translate_old_layers(OldTranslation& t, const OldNode& list, const AfterOldLayer& after = {});
// The cost of a cost layer, set in `out`; whether it compares with the samples.
bool translate_old_cost(OldTranslation& t, const OldNode& node, const OldNode& data, OldResult& out);
// Checkpoints, epochs and the note on batches, which all models have.
void finish_old_training(OldTranslation& t, const OldObject& model, OldResult& out);
// Layers, cost, optimizer, checkpoints and epochs.
void finish_old_model(OldTranslation& t, const OldObject& object, OldResult& out);

}  // namespace neon
