// What costs and metrics may object to in an output of a net.
#pragma once
#include <cstdint>
#include <string>

namespace neon {

struct OutputForm {
  int64_t width = 0;
  std::string last_op;  // of the op that made it: of its activation
};

}  // namespace neon
