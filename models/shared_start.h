// Layers that share the weights of others share the values with which these begin, too.
#pragma once
#include "models/container.h"

namespace neon {

// Throws a config error where an initializer of this layer would fill a parameter of `owner` otherwise than the owner's
// own initializer does. The error names the key.
void check_start(const Link& link, const Link& owner, const Sharing::Unused& unused);

}  // namespace neon
