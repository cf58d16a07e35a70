// Nets with a depthwise convolution behind batch norm, whose image a device may compute as it reads it.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "backends/graph/graph.h"

namespace neon::test {

struct NormedDepthwiseCase {
  std::string name;
  std::function<void(Graph&, DType)> build;  // of output "y", see build_branches()
  int64_t forward = 1;                       // depthwise convolutions that compute their image
  int64_t gradients = 1;                     // kernels that compute it for the gradient by the filters
  int64_t folds = 1;                         // kernels of both gradients that fold them for batch norm's
  bool both = true;                          // a GPU makes both gradients in one kernel
};
std::vector<NormedDepthwiseCase> normed_depthwise_cases();

}  // namespace neon::test
