// The graph of a net's outputs that an ONNX file is made from, for any number of samples.
//
// A graph has its number of samples written into shapes and attributes. It is therefore described twice, for two
// batches: numbers that differ between the two are multiples of the number of samples.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "backends/graph/graph.h"
#include "backends/variables.h"

namespace neon::onnx {

class NetGraph {
 public:
  // `describe` gives the graph for a batch; its output y is the net's. Throws a config error where the two graphs
  // differ in more than numbers.
  explicit NetGraph(const std::function<Graph(int64_t batch)>& describe);

  const Graph& graph() const { return first_; }
  // The sizes of a value, or a node's attribute of that name; kBatch (model.h) stands for the number of samples and
  // multiples -k for k times as many. Throws a config error for a number that depends on it otherwise.
  std::vector<int64_t> sizes(Value value) const;
  std::vector<int64_t> numbers(int node, std::string_view attribute) const;
  // Throws a config error where an attribute depends on the number of samples.
  void check_same_attributes(int node) const;

  // Whether it depends on weights and fixed numbers alone.
  bool is_constant(Value value) const { return constant_[size_t(value.id)]; }
  // Whether it depends on no sample: a constant, or one that is repeated for each sample.
  bool is_fixed(Value value) const { return fixed_[size_t(value.id)]; }
  // The arrays of all fixed values that others take, numbers aside. One that is the same for each sample has size 1
  // where it would be repeated, and one that differs between samples is left out. `variables` are the net's, with its
  // weights.
  std::map<Value, Tensor> constants(Variables& variables) const;

 private:
  std::vector<int64_t> of_both(std::span<const int64_t> a, std::span<const int64_t> b, int node) const;
  void find_constants();
  bool is_taken(const Node& node, size_t operand) const;
  Tensor once(Value value, Tensor tensor) const;
  Graph first_, second_;
  Graph small_;  // the same for a few samples, which computes the constants
  std::vector<bool> fixed_, constant_;
};

// "layers[2] Affine: op `matmul`", for messages.
std::string place_of(const Node& node);

}  // namespace neon::onnx
