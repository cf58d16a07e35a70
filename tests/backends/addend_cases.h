// Sums of a product's or a convolution's result and an array, which a device may make as it makes the result.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "backends/graph/graph.h"

namespace neon::test {

struct AddendCase {
  std::string name;
  std::function<void(Graph&, DType)> build;  // see build_branches()
  int taken = 1;                             // sums on a GPU
  bool exact = true;                         // in f32, too
};
std::vector<AddendCase> addend_cases();

}  // namespace neon::test
