// Keys and parameters that models of neon 0.9 share.
#pragma once
#include <functional>

#include "neon/spec/old/old_layers.h"

namespace neon {

// Keys of every model that is a list of layers, beside the given.
OldKeys old_model_keys(OldKeys own);
// Names of checkpoints, and when they are written.
void translate_old_saving(OldTranslation& t, const OldObject& model);
// Whether the last node of a list is a cost layer.
bool ends_with_old_cost(const OldNode& list);
// The layers of a list between a data layer and a cost layer, which may be missing; none after a problem. `after` is
// called when each of them has been added.
enum class OldCostLayer { needed, missing };
using AfterOldLayer = std::function<void(const OldNode& node, Setting& layers)>;
Setting translate_old_layers(OldTranslation& t, const OldNode& list, const AfterOldLayer& after = {},
                             OldCostLayer cost = OldCostLayer::needed);
// The cost of a cost layer, set in `out`; whether it compares with the samples.
bool translate_old_cost(OldTranslation& t, const OldNode& node, const OldNode& data, OldResult& out);
// Checkpoints, epochs and the note on batches, which all models have.
void finish_old_training(OldTranslation& t, const OldObject& model, OldResult& out);
// Layers, cost, optimizer, checkpoints and epochs.
void finish_old_model(OldTranslation& t, const OldObject& object, OldResult& out);

}  // namespace neon
