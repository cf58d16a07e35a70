// Where specs differ: layers that stand beside each other are compared key by key; one that a spec lacks is one line.
#pragma once
#include <string>
#include <vector>

#include "neon/core/setting.h"
#include "neon/report/run.h"

namespace neon {

// An object without the parameters that are at their defaults: "BatchNorm", "Dropout: 0.8", "Affine: {nout: 3}". Other
// settings as YAML.
std::string brief_text(const Setting& setting);

// Rows of group "spec" for resolved specs, in the order of the first spec that has a key. `layers[0|3].Affine.nout` is
// of layer 0 of one spec and layer 3 of another.
std::vector<Difference> spec_differences(const std::vector<const Setting*>& specs);

}  // namespace neon
