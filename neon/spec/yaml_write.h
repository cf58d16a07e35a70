// The writer of YAML, and what may stand between its lines.
#pragma once
#include <string>

#include "neon/core/setting.h"

namespace neon {

// Asked for each entry of a map and each item of a list, in the order of the lines.
class YamlMargin {
 public:
  virtual ~YamlMargin() = default;
  // Lines of comments above it, without their marks. `where` is of the key, or of the item.
  virtual std::string above(const Location& where, const Setting& value, size_t indent) = 0;
  // "&name " before the value, "*name" in its place, or "".
  virtual std::string anchor(const Setting& value) = 0;
};

std::string write_yaml(const Setting& setting, YamlMargin& margin);

}  // namespace neon
