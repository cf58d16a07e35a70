// Properties of a net's output that costs and metrics may object to.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "neon/core/target_kind.h"

namespace neon {

// last_op of some of a Softmax's outputs, as a Slice takes them.
constexpr const char* kPartOfSoftmax = "part of softmax";

struct OutputForm {
  int64_t width = 0;
  std::string last_op;  // of the op that made it: of its activation
  // These describe its target, where a data set has several.
  TargetKind kind = TargetKind::number;
  int64_t classes = 0;
  std::vector<std::string> names = {};
};

}  // namespace neon
