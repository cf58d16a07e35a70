// Making one graph from another, node by node. Used by passes.
#pragma once
#include "backends/graph/graph.h"
#include "backends/graph/op.h"
#include "neon/core/error.h"

namespace neon {

// By node: whether an output or an assignment needs it.
std::vector<bool> live_nodes(const Graph& graph);

// The graph without nodes that nothing needs, in which rule(Graph& to, const Node& node) gives the results that take
// the place of a node's, or none where the node stays as it is. The node's inputs are values of `to`.
template <typename Rule>
Graph rewritten(const Graph& graph, Rule&& rule) {
  const std::vector<bool> live = live_nodes(graph);
  Graph to;
  to.sequences = graph.sequences;
  std::vector<Value> mapped(size_t(graph.value_count()));
  auto find = [&](Value value) { return value ? mapped[size_t(value.id)] : Value{}; };
  for (int i = 0; i < graph.node_count(); ++i) {
    if (!live[size_t(i)]) continue;
    Node node = graph.node(i);
    for (Value& input : node.inputs) input = find(input);
    Scope scope(to, node.scope);
    std::vector<Value> results = rule(to, node);
    if (results.empty()) results = to.add_all(node.op->name, node.inputs, node.attributes);
    NEON_ASSERT(results.size() == node.outputs.size());
    for (size_t k = 0; k < results.size(); ++k) {
      NEON_ASSERT(to.type(results[k]) == graph.type(node.outputs[k]));
      mapped[size_t(node.outputs[k].id)] = results[k];
    }
  }
  for (const auto& [name, value] : graph.outputs()) to.output(name, find(value));
  for (const Assignment& a : graph.assignments()) to.assign(find(a.variable), find(a.value), find(a.guard));
  return to;
}

}  // namespace neon
