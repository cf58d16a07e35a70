// Parameters that training leaves as they are.
#pragma once
#include <string>
#include <vector>

namespace neon {

struct Parameter;

struct Freeze {
  // Names, or patterns with *, ? and [...], of layers, of parts of layers as MultiOptimizer names them, and of arrays.
  std::vector<std::string> patterns = {};
  std::string key = "freeze";  // of the spec, which has them
  bool holds(const Parameter& parameter) const;
  // Throws a config error where a pattern is the name of nothing, or where nothing is left to train.
  void check(const std::vector<Parameter>& all) const;
};

}  // namespace neon
