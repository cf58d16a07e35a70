// Graphs with concatenations, and which of them need no kernel: what makes the inputs writes into the result.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "backends/graph/expression.h"
#include "neon/core/tensor.h"

namespace neon::test {

struct JoinCase {
  std::string name;
  std::function<void(Graph&, DType)> build;
  int copied = 0;         // concatenations that still are kernels,
  int copied_narrow = 0;  // of types of 16 bits
};

// With outputs, and gradients of those that have any by all leaves.
std::vector<JoinCase> join_cases();
Graph build_join(const JoinCase& c, DType dtype);

// Whole numbers for a leaf: few enough that all sums of the cases are exact in every floating type.
Tensor join_data(const Graph& graph, Value leaf);

}  // namespace neon::test
