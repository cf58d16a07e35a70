// Trees of settings as single ones.
#pragma once
#include <string>
#include <vector>

#include "neon/core/setting.h"
#include "neon/report/run.h"

namespace neon {

// "layers[0].Affine.nout" and the like, each with its value.
std::vector<Fact> facts_of(const std::string& group, const Setting& setting);
// The same of a YAML text; a text that is no YAML is one fact without a key.
std::vector<Fact> facts_of_yaml(const std::string& group, const std::string& content);

}  // namespace neon
