// Small nets of dense layers, whose gradients' products may take derivatives and sums along.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "backends/graph/graph.h"

namespace neon::test {

struct DenseCase {
  std::string name;
  std::function<void(Graph&, DType)> build;  // of output "y", see build_branches()
  int derivatives = 0, sums = 0;             // that products take along
};
std::vector<DenseCase> dense_cases();

}  // namespace neon::test
