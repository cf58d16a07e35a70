// Convolutions of 16 bits whose results a batch norm reads, which a GPU of compute capability 9.0 folds as it makes
// them.
#pragma once
#include <string>
#include <vector>

#include "backends/graph/graph.h"

namespace neon::test {

struct ResultFoldsCase {
  std::string name;
  Shape x;
  std::vector<int64_t> w;  // maps, height, width
  int64_t stride = 1;
  double bias = 0;  // to all pixels of some maps, that much is added, and taken from those of others
};
std::vector<ResultFoldsCase> result_folds_cases();

// Outputs: "mean" and "variance", and "y", what is normalised. Variables: "x", "w", "gamma", "beta", and "bias" if any.
Graph result_folds(const ResultFoldsCase& c, DType dtype);

}  // namespace neon::test
