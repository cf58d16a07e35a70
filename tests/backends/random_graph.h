// Random graphs of elementwise, reducing, broadcasting, moving and multiplying nodes with several outputs and
// assignments, run fused, kernel by kernel, and plain, over several steps. Used by the suite and by tools/soak.
#pragma once
#include <map>
#include <string>

#include "backends/program.h"

namespace neon::test {

struct RandomGraph {
  Graph graph;
  std::map<std::string, Tensor> inputs, variables;  // the variables' first values
};

struct RandomGraphOptions {
  DType dtype = DType::f64;
  // Functions that jump (comparisons, argmax, casts to integers) and products, whose order of summation is a
  // library's.
  bool jumps = true, products = true;
};

RandomGraph random_graph(uint64_t seed, const RandomGraphOptions& options);

// Runs the graph of a seed in all ways that must agree and says what does not; empty when all is well.
std::string check_random_graph(uint64_t seed);

}  // namespace neon::test
