// First convolutions whose images are computed from others, or from rows of a data set, which a device may do as it
// makes channels of what windows see.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "backends/graph/graph.h"

namespace neon::test {

struct PrologueCase {
  std::string name;
  std::function<void(Graph&, DType)> build;  // of output "y", see build_branches()
  bool taken = true;
};
std::vector<PrologueCase> prologue_cases();

}  // namespace neon::test
