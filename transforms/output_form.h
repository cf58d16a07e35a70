// Properties of a net's output that costs and metrics may object to.
#pragma once
#include <cstdint>
#include <string>

namespace neon {

struct OutputForm {
  int64_t width = 0;
  std::string last_op;  // of the op that made it: of its activation
};

}  // namespace neon
