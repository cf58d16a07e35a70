// Graphs with branches: which concatenations need no kernel, as what makes the inputs writes into the result.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "backends/graph/graph.h"

namespace neon::test {

struct JoinCase {
  std::string name;
  std::function<void(Graph&, DType)> build;  // see build_branches()
  int copied = 0;                            // concatenations that still are kernels,
  int copied_narrow = 0;                     // of types of 16 bits
};
std::vector<JoinCase> join_cases();

}  // namespace neon::test
