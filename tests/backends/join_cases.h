// Graphs with branches: which concatenations need no kernel, as what makes the inputs writes into the result, and which
// gradients of convolutions of one input are made together.
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
std::vector<JoinCase> join_cases();

struct SiblingCase {
  std::string name;
  std::function<void(Graph&, DType)> build;
  int data = 0, weights = 0;  // kernels for gradients by inputs and by filters
};
std::vector<SiblingCase> sibling_cases();

// Concatenations on a device whose convolutions write into them only where filters see single pixels.
struct PixelCase {
  std::string name;
  std::function<void(Graph&, DType)> build;
  int copied = 0;   // concatenations that still are kernels
  int written = 0;  // convolutions, and gradients of one, that write into one
  int apart = 0;    // convolutions whose relu is a kernel for itself, which writes there
};
std::vector<PixelCase> pixel_cases();

// With the gradients of output "y" by all leaves, where there is one.
Graph build_branches(const std::function<void(Graph&, DType)>& build, DType dtype);

// Whole numbers for a leaf: few enough that all sums of the cases are exact in every floating type.
Tensor join_data(const Graph& graph, Value leaf);

}  // namespace neon::test
