// Graphs with branches: which gradients of convolutions and products of one input are made together.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "backends/graph/graph.h"

namespace neon::test {

struct SiblingCase {
  std::string name;
  std::function<void(Graph&, DType)> build;  // see build_branches()
  int data = 0, weights = 0;                 // kernels for gradients by inputs and by filters
  int products = 0;                          // of matrices
};
std::vector<SiblingCase> sibling_cases();

}  // namespace neon::test
