// `Repeat: {times: N, layers: [...]}`, an item of a list, stands for its layers N times over.
#pragma once
#include "neon/core/setting.h"
#include "neon/spec/yaml.h"

namespace neon {

// Expands every Repeat under `root` in place, inner ones too. Copies are independent and keep the place and path
// of what they were copied from. A `name:` among the layers gets _1 ... _N at its end (outer count first:
// conv_2_1), and so does an `inputs:` that names one of the same copy. Nothing is expanded when there is a problem:
// a Repeat with other keys, outside a list, or growing past the limits.
void expand_repeats(Setting& root, const YamlLimits& limits, Problems& problems);

}  // namespace neon
