// Nets with max pooling behind batch norm, which a device may compute as it pools, and the gradient of pooling as batch
// norm's gradient reads it.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "backends/graph/graph.h"

namespace neon::test {

struct NormedPoolingCase {
  std::string name;
  std::function<void(Graph&, DType)> build;  // of output "y", see build_branches()
  bool operand = true;                       // pooling may compute what it reads
  bool spread = true;                        // a kernel may make pooling's gradient as it reads it
};
std::vector<NormedPoolingCase> normed_pooling_cases();

}  // namespace neon::test
