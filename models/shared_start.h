// Layers that share the weights of others share the values with which these begin, too.
#pragma once
#include "models/container.h"

namespace neon {

// The layer's parameters as a spec has them, without the default initializers of one that shares its weights: nothing
// fills them, and a spec that named them would be refused.
Setting without_idle_defaults(const Layer& layer, Setting resolved);

// Throws a config error where an initializer of this layer would fill a parameter of `owner` otherwise than the owner's
// own initializer does. The error names the key. The spec of a checkpoint is taken as it is: older ones name defaults.
void check_start(const Link& link, const Link& owner, const Sharing::Unused& unused);

}  // namespace neon
