// Both gradients of depthwise convolutions.
#pragma once
#include <string>
#include <vector>

#include "backends/graph/graph.h"

namespace neon::test {

struct BothGradientsCase {
  std::string name;
  Shape x, w, y;
  Attributes by_input, by_filters;  // of the ops
  bool together = true;             // whether a GPU makes them in one kernel
};

std::vector<BothGradientsCase> both_gradients_cases();

// Outputs "by input" and "by filters" of inputs "x", "w" and "y", which is the gradient of the results.
Graph both_gradients(const BothGradientsCase& c, DType dtype);

}  // namespace neon::test
