// Dense blocks: batch norms of concatenations of which each is a part of the next.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "backends/graph/graph.h"

namespace neon::test {

struct DenseBlockCase {
  std::string name;
  std::function<void(Graph&, DType)> build;  // of output "y", see build_branches()
  bool apart = true;                         // gradients are added up unfinished
};
std::vector<DenseBlockCase> dense_block_cases();

constexpr int64_t kLayers = 4;

}  // namespace neon::test
