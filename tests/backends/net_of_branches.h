// Graphs with branches, for cases, and whole numbers to run them with.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "backends/graph/expression.h"
#include "backends/graph/windows.h"
#include "neon/core/tensor.h"

namespace neon::test {

// Layers of a small net over an image x (N,H,W,C), and what else may be between them.
class NetOfBranches {
 public:
  NetOfBranches(Graph& graph, DType dtype, const Shape& image);

  // A convolution by `maps` square filters that keeps the image's size; with bias and relu.
  Expr product(Expr from, int64_t maps, int64_t size, int64_t groups = 1);
  Expr layer(Expr from, int64_t maps, int64_t size = 1);
  static Windows windows(int64_t size);
  // Gradients of such convolutions, by what they see and by filters of single pixels.
  Expr transposed(Expr from, int64_t maps);
  Expr data_gradient(Expr y, Expr w);
  Expr weight_gradient(Expr from, Expr y);
  // Pooling that keeps the image's size.
  Expr largest(Expr from);
  Expr mean_of_four(Expr from);
  Expr joined(const std::vector<Expr>& parts, int64_t axis = 3);
  Expr part(Expr from, int64_t axis, int64_t first, int64_t count);
  Expr input(const std::string& name, const Shape& shape) { return {graph, graph.input(name, dtype, shape)}; }
  Expr variable(const Shape& shape) { return {graph, graph.variable(text("w", made_++), dtype, shape)}; }
  void output(const std::string& name, Expr y) { graph.output(name, y); }
  // A last layer, and the gradients of its sum.
  void end(Expr y) { output("y", product(y, 8, 1)); }

  Graph& graph;
  const DType dtype;
  const Expr x;

 private:
  int made_ = 0;
};

using BuildBranches = void (*)(NetOfBranches&);
std::function<void(Graph&, DType)> over(const Shape& image, BuildBranches build);

// With the gradients of output "y" by all leaves, where there is one.
Graph build_branches(const std::function<void(Graph&, DType)>& build, DType dtype);

// Whole numbers for a leaf: few enough that all sums of the cases are exact in every floating type.
Tensor join_data(const Graph& graph, Value leaf);

}  // namespace neon::test
