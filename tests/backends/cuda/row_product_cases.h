// Nets whose batch norm multiplies the rows that it walks over first, and what they are to compute.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "backends/graph/graph.h"
#include "neon/core/tensor.h"

namespace neon::test {

// Images x (N,H,W,inner); a convolution of single pixels to `channels`, batch norm, relu, with `joined` a sum with
// other images before it; then another convolution to `outputs`.
struct RowProductCase {
  int64_t images, height, width, inner, channels, outputs;
  bool joined;
};
std::vector<RowProductCase> row_product_cases();

// With the net's result z before the second convolution, and gradients of half the sum of the last one's squares.
Graph build(const RowProductCase& c, DType dtype);
// Numbers for a leaf.
Tensor numbers_of(const Graph& graph, Value leaf);
// The outputs, by loops in f64 of these numbers.
std::map<std::string, std::vector<double>> expected(const RowProductCase& c, const Graph& graph);

}  // namespace neon::test
