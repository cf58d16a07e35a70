// Nets whose max pooling's gradient may take the derivative of the activation after it along, and the sums that are the
// gradient of the bias before it.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "backends/graph/graph.h"

namespace neon::test {

struct PooledCase {
  std::string name;
  std::function<void(Graph&, DType)> build;  // of output "y", see build_branches()
  bool derivative = true, sums = true;       // taken along, of arrays of any size
};
std::vector<PooledCase> pooled_cases();

// First convolutions with max pooling behind them, which a GPU may do in one kernel in 16 bits.
struct PooledConvolutionCase {
  std::string name;
  std::function<void(Graph&, DType)> build;  // of output "y", see build_branches()
  bool taken = true, gradient = true;  // the convolution takes pooling along, its filters' gradient that of pooling
  bool relu = true;
};
std::vector<PooledConvolutionCase> pooled_convolution_cases();

}  // namespace neon::test
