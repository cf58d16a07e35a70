// Concatenations on a device whose convolutions write into them only where filters see single pixels.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "backends/graph/graph.h"

namespace neon::test {

struct PixelCase {
  std::string name;
  std::function<void(Graph&, DType)> build;  // see build_branches()
  int copied = 0;                            // concatenations that still are kernels
  int written = 0;                           // convolutions, and gradients of one, that write into one
  int apart = 0;                             // convolutions whose relu is a kernel for itself, which writes there
};
std::vector<PixelCase> pixel_cases();

}  // namespace neon::test
