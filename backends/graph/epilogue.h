// The nodes around a kernel of its own that the kernel takes along. A product or convolution takes bias and relu,
// gradients take a derivative and sums. Only lowering uses this.
#pragma once
#include <vector>

#include "backends/graph/fuse.h"
#include "backends/graph/lower.h"

namespace neon {

// Has a kernel multiply by the derivative that `node` is, in place of writing its own result.
void take_derivative(LoweredKernel& kernel, const Node& node);

class Epilogues {
 public:
  // The three must outlive it.
  Epilogues(const Graph& graph, const std::vector<Role>& roles, const LowerOptions& options);

  // Has the kernel of opaque node `maker` do more, and write a variable in place where it can; returns the nodes that
  // it does beside.
  std::vector<int> take(LoweredKernel& kernel, int maker);

  // By node, of all kernels so far: whether one took it along; and the nodes that must run after it, or after its
  // kernel.
  const std::vector<bool>& taken() const { return taken_; }
  const std::vector<std::vector<int>>& next() const { return next_; }

 private:
  int only_use(Value value) const;
  Value bias_added(int n, Value product) const;
  Value array_added(int n, const LoweredKernel& kernel, int maker) const;
  bool is_own_product(int n) const;
  bool ends_product(int n, int maker) const;
  int summing_product(int sum) const;
  bool is_joined(Value value) const;
  bool sees_patches(Value x, Value w) const;
  int gradient_by_filters(const LoweredKernel& pooling) const;
  bool may_pool(const LoweredKernel& convolution, int n) const;
  bool is_gate(int n) const;
  bool sums_pixels(int n) const;
  bool joins_better_alone(int n, const LoweredKernel& kernel) const;
  bool may_lie_in_rows(Value part) const;
  bool may_be_one(const std::vector<int>& nodes) const;

  void take_epilogue(LoweredKernel& kernel, int maker);
  void take_sums(LoweredKernel& kernel, int product);
  void take_pooling(LoweredKernel& convolution, int n);
  void take_gate(LoweredKernel& kernel, int pooling);
  void take_node(int n);
  void make_one(const std::vector<int>& nodes);

  const Graph& graph_;
  const std::vector<Role>& roles_;
  const LowerOptions& options_;
  std::vector<bool> taken_, assigned_;  // by node; assigned: writes a variable
  std::vector<Value> targets_;          // by value: direct_targets()
  std::vector<std::vector<int>> next_;  // by node
  std::vector<std::vector<int>> uses_;  // by value: nodes; the number of nodes stands for the caller
  std::vector<int> beside_;             // nodes that the present kernel takes
};

}  // namespace neon
