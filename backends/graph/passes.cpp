#include "backends/graph/passes.h"

#include <algorithm>

#include "backends/graph/ops.h"
#include "backends/graph/rewrite.h"

namespace neon {

std::vector<bool> live_nodes(const Graph& graph) {
  std::vector<bool> live(size_t(graph.node_count()), false);
  auto mark = [&](Value value) {
    if (value) live[size_t(graph.producer_index(value))] = true;
  };
  for (const auto& [name, value] : graph.outputs()) mark(value);
  for (const Assignment& a : graph.assignments()) mark(a.variable), mark(a.value), mark(a.guard);
  for (int i = graph.node_count() - 1; i >= 0; --i)
    if (live[size_t(i)])
      for (Value input : graph.node(i).inputs) mark(input);
  return live;
}

Graph expand(const Graph& graph, const DeviceKernels& kernels) {
  bool again = true;
  Graph out = graph;
  while (again) {
    // Nodes that a definition adds may be compound again.
    again = false;
    out = rewritten(out, [&](Graph& to, const Node& node) {
      const bool compound = node.op->define && !(kernels.keeps && kernels.keeps(to, node, kernels));
      again = again || compound;
      return compound ? node.op->define(to, node) : std::vector<Value>{};
    });
  }
  return out;
}

namespace {

// Whether every element that a pooling gradient spreads arrives somewhere, in the same channel.
bool spreads_within_channels(const Node& node) {
  if (!node.op->is(ops::pool_max_gradient)) return false;
  const Attributes& a = node.attributes;
  return a.integers("window").back() == 1 && a.integers("strides").back() == 1;
}

}  // namespace

Graph simplified(const Graph& graph) {
  return rewritten(graph, [](Graph& to, const Node& node) {
    std::vector<Value> out;
    if (node.op->traits.reduction != Reduction::sum) return out;
    const Node& maker = to.producer(node.inputs[0]);
    const auto& axes = node.attributes.integers("axes");
    const int last = to.shape(node.inputs[0]).rank() - 1;
    bool over_pixels = true;
    for (int axis = 0; axis < last; ++axis) over_pixels = over_pixels && std::ranges::count(axes, axis) > 0;
    if (over_pixels && spreads_within_channels(maker)) out = {to.add(ops::sum, {maker.inputs[0]}, node.attributes)};
    return out;
  });
}

}  // namespace neon
