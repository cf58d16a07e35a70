#include "backends/graph/passes.h"

#include <algorithm>

#include "backends/graph/op.h"

namespace neon {

namespace {

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

// One round; nodes that a definition adds may be compound again.
Graph expand_once(const Graph& graph, std::span<const std::string_view> keep, bool& again) {
  const std::vector<bool> live = live_nodes(graph);
  Graph out;
  std::vector<Value> mapped(size_t(graph.value_count()));
  auto find = [&](Value value) { return value ? mapped[size_t(value.id)] : Value{}; };
  for (int i = 0; i < graph.node_count(); ++i) {
    if (!live[size_t(i)]) continue;
    Node node = graph.node(i);
    for (Value& input : node.inputs) input = find(input);
    Scope scope(out, node.scope);
    const bool compound = node.op->define && std::ranges::find(keep, node.op->name) == keep.end();
    const auto results =
        compound ? node.op->define(out, node) : out.add_all(node.op->name, node.inputs, node.attributes);
    again = again || compound;
    NEON_ASSERT(results.size() == node.outputs.size());
    for (size_t k = 0; k < results.size(); ++k) {
      NEON_ASSERT(out.type(results[k]) == graph.type(node.outputs[k]));
      mapped[size_t(node.outputs[k].id)] = results[k];
    }
  }
  for (const auto& [name, value] : graph.outputs()) out.output(name, find(value));
  for (const Assignment& a : graph.assignments()) out.assign(find(a.variable), find(a.value), find(a.guard));
  return out;
}

}  // namespace

Graph expand(const Graph& graph, std::span<const std::string_view> keep) {
  bool again = true;
  Graph out = graph;
  while (again) {
    again = false;
    out = expand_once(out, keep, again);
  }
  return out;
}

}  // namespace neon
