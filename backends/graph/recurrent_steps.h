// Parts that the definitions of recurrent cells share with those of their gradients.
#pragma once
#include "backends/graph/flops.h"
#include "backends/graph/recurrent.h"

namespace neon {

// The steps of sequences, in the order in which a cell takes them.
class CellSteps {
 public:
  // `lengths` (N) may be an invalid Value.
  CellSteps(Graph& graph, int64_t count, bool reverse, Value lengths);
  std::vector<int64_t> forward() const;
  std::vector<int64_t> backward() const;
  // Step t of x (N,T,F): (N,F) in the arithmetic.
  std::vector<Expr> of(Value x) const;
  // CellSteps (N,F) in one array (N,T,F) of a type.
  Value joined(const std::vector<Expr>& steps, DType dtype) const;
  // The state after step t: `fresh`, or for padding `old`.
  Expr kept(int64_t t, Expr fresh, Expr old) const;
  // The states (N,T,H) that the steps began with: `first` (N,H), then those of `states` but the last.
  Value before(Value states, Value first) const;

 private:
  Graph& graph_;
  const int64_t count_;
  const bool reverse_;
  Value lengths_;
};

// a (M,K) · b (K,N) in the arithmetic; operands are of one type, 16-bit ones stay such.
Expr product_of_steps(Expr a, Value b, bool transpose_b);
// x (N,G H) in G parts (N,H).
std::vector<Expr> parts_of(Expr x, int64_t count);
Expr side_by_side(const std::vector<Expr>& parts);
// a (N,T,M) and b (N,T,K) -> (M,K), the sum over samples and steps of a's numbers times b's.
Value summed_products(Graph& graph, Value a, Value b);

// The functions of a node, and their derivatives times g where the result was y.
class RowCell : public Cell {
 public:
  explicit RowCell(const Attributes& attributes);
  Expr activation(Expr x) const override { return neon::apply(activation_, x); }
  Expr gate(Expr x) const override { return neon::apply(gate_, x); }
  Expr activation_gradient(Expr g, Expr y) const;
  Expr gate_gradient(Expr g, Expr y) const;

 private:
  std::string activation_, gate_;
};

// Shape rules: z (N,T,gates H), w (gates H,H), h0 (N,H); with an lstm's c0; with lengths where they are given.
struct CellSizes {
  int64_t samples, steps, units;
};
CellSizes check_cell(const InferContext& c, int64_t gates, bool has_c, const char* name);
Attributes attributes_of(const CellRows& cell);
// Counts the products with the states, forward or backward. Operand 0 is (N,T,...), operand number `weights` (G H,H).
template <size_t weights>
double flops_of_cell(const Graph& graph, const Node& node) {
  const Shape &steps = graph.shape(node.inputs[0]), &w = graph.shape(node.inputs[weights]);
  return flops_of_products(double(steps[0] * steps[1] * w[0]), double(w[1]));
}

}  // namespace neon
