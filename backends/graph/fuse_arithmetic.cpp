// The arithmetic of a group's kernel, and which nodes cannot be in one. A kernel rounds values to their types only
// where it stores them. A value of f32 made in f64 would therefore have other bits than one made in f32. The nodes
// beside it would decide which of the two it is, and so would the number of samples in a batch.
#include <algorithm>

#include "backends/graph/fuse.h"
#include "backends/graph/ops.h"

namespace neon {

namespace {

bool is_f64(const Graph& graph, Value value) { return graph.dtype(value) == DType::f64; }

bool takes_f64(const Graph& graph, const Node& node) {
  return std::ranges::any_of(node.inputs, [&](Value input) { return is_f64(graph, input); });
}

bool is_integer(DType dtype) { return dtype == DType::i32 || dtype == DType::i64; }

constexpr int64_t kExact = int64_t(1) << 24;  // whole numbers up to it are exact in f32

// Whether f32 may be too short for them: integers, or places along an axis.
bool may_hold_large_integers(const TensorType& type) {
  return is_integer(type.dtype) || std::ranges::any_of(type.shape, [](int64_t size) { return size > kExact; });
}

// Whether it may count so many elements.
bool may_count_many(const Graph& graph, const Node& node) {
  return node.op->traits.reduction == Reduction::sum && graph.shape(node.inputs[0]).elements() > kExact;
}

// Whether the value of a node has other bits where f64 computes it from the same operands. `roles` may lack it.
bool differs_in_f64(const Graph& graph, const std::vector<Role>& roles, int n) {
  const Node& node = graph.node(n);
  const OpTraits& traits = node.op->traits;
  if (node.op->is_number()) return traits.leaf == LeafKind::scalar;
  if (traits.fusion == Fusion::source) return false;
  const Value made = node.outputs[0];
  if (!is_floating(graph.dtype(made)) || !is_made_in_f32(graph, node)) return false;
  if (!traits.exact) return true;
  return std::ranges::any_of(node.inputs, [&](Value input) {
    const int p = graph.producer_index(input);
    const bool made_here = roles[size_t(p)] == Role::source || graph.node(p).op->is_number();
    return made_here && differs_in_f64(graph, roles, p);
  });
}

// Whether it is rounded to a type already, by a row that does so within kernels.
bool is_rounded(const Graph& graph, Value value, DType to) {
  const Op& op = *graph.producer(value).op;
  return (to == DType::f32 && op.is(ops::as_f32)) || (to == DType::f16 && op.is(ops::as_f16)) ||
         (to == DType::bf16 && op.is(ops::as_bf16));
}

}  // namespace

bool rounds(const Graph& graph, const Node& node) {
  const DType made = graph.dtype(node.outputs[0]);
  if (!is_floating(made)) return node.op->is(ops::cast);
  if (node.op->is(ops::cast) && is_rounded(graph, node.inputs[0], made)) return false;
  return made != DType::f64 && takes_f64(graph, node);
}

bool is_made_in_f32(const Graph& graph, const Node& node) {
  return !is_f64(graph, node.outputs[0]) && !takes_f64(graph, node);
}

bool has_f64(const Graph& graph, const std::vector<int>& nodes) {
  return !std::ranges::all_of(nodes, [&](int n) { return is_made_in_f32(graph, graph.node(n)); });
}

bool has_one_arithmetic(const Graph& graph, const std::vector<Role>& roles, const std::vector<int>& nodes) {
  return !has_f64(graph, nodes) || std::ranges::none_of(nodes, [&](int n) { return differs_in_f64(graph, roles, n); });
}

DType arithmetic_of(const Graph& graph, const std::vector<int>& nodes, const std::vector<Value>& stored) {
  if (has_f64(graph, nodes)) return DType::f64;
  bool large = false;
  for (int n : nodes) {
    const Node& node = graph.node(n);
    large = large || may_count_many(graph, node);
    for (Value input : node.inputs) large = large || may_hold_large_integers(graph.type(input));
    // A cast makes integers of what it takes.
    if (!rounds(graph, node)) large = large || may_hold_large_integers(graph.type(node.outputs[0]));
  }
  const bool to_integers = std::ranges::any_of(stored, [&](Value value) { return is_integer(graph.dtype(value)); });
  return large && to_integers ? DType::f64 : DType::f32;
}

}  // namespace neon
