// Graphs over arrays large enough for the kernels of large arrays: packed loads, rows kept in registers, columns
// shared by blocks.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "backends/graph/expression.h"
#include "neon/core/tensor.h"

namespace neon::test {

struct WideInput {
  std::string name;
  DType dtype;
  Shape shape;
};

struct WideCase {
  std::string name;
  std::vector<WideInput> inputs;
  std::function<Expr(Graph&, const std::vector<Expr>&)> build;  // its output "y", beside those that it names itself
  int64_t length = 1;                                           // numbers that are added up for one result
  std::string text = {};                                        // in the source of the kernel
};

// In `dtype`, where a case does not say otherwise.
std::vector<WideCase> wide_cases(DType dtype);
std::vector<Value> build_wide(Graph& graph, const WideCase& c);
// Numbers that are exact in every floating type; rows to look up for "rows".
Tensor wide_data(const WideInput& input, int64_t rows);

}  // namespace neon::test
