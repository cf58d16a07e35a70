// A YAML document with aliases and merges resolved, and what a notation may judge otherwise than plain YAML.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "neon/core/setting.h"
#include "neon/spec/raw.h"
#include "neon/spec/yaml.h"

namespace neon {

struct Document {
  Setting root;
  Problems doubled_keys;                   // of each the last value is in the tree
  std::vector<std::string> anchored_keys;  // keys of the root map with an anchor under them
};

// Throws every problem but doubled keys.
Document read_document(std::string_view text, const std::string& name, const YamlLimits& limits);
Document read_document(const Source& source, RawDocument raw, const YamlLimits& limits, Problems& problems);

}  // namespace neon
