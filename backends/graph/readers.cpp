// Which nodes read and write an array: directly, through views, and by way of the variables that a step writes.
#include <algorithm>

#include "backends/graph/fuse.h"
#include "backends/graph/ops.h"

namespace neon {

namespace {

void add_edge(Edges& edges, int from, int to) {
  std::vector<int>& of = edges[size_t(from)];
  const auto place = std::ranges::lower_bound(of, to);
  if (place == of.end() || *place != to) of.insert(place, to);
}

}  // namespace

Edges data_edges(const Graph& graph) {
  Edges next(size_t(graph.node_count()));
  for (int i = 0; i < graph.node_count(); ++i)
    for (Value input : graph.node(i).inputs) {
      std::vector<int>& of_input = next[size_t(graph.producer_index(input))];
      if (of_input.empty() || of_input.back() != i) of_input.push_back(i);
    }
  return next;
}

std::vector<std::pair<int, int>> readers(const Graph& graph, const Edges& data, Value variable) {
  std::vector<std::pair<int, int>> out;
  auto follow = [&](int direct, int n, auto&& self) -> void {
    if (!is_view(graph, n)) return out.push_back({direct, n});
    for (int s : data[size_t(n)]) self(direct, s, self);
  };
  for (int n : data[size_t(graph.producer_index(variable))]) follow(n, n, follow);
  return out;
}

std::vector<Value> direct_targets(const Graph& graph) {
  std::vector<bool> used(size_t(graph.value_count()), false);  // beside being assigned
  std::vector<Value> out(used.size());
  for (const auto& [name, output] : graph.outputs()) used[size_t(output.id)] = true;
  for (int n = 0; n < graph.node_count(); ++n)
    for (Value input : graph.node(n).inputs) used[size_t(input.id)] = true;
  for (const Assignment& a : graph.assignments()) {
    if (a.guard) used[size_t(a.guard.id)] = true;
    if (a.guard || out[size_t(a.value.id)]) used[size_t(a.value.id)] = true;
    out[size_t(a.value.id)] = a.variable;
  }
  for (size_t v = 0; v < out.size(); ++v)
    if (used[v] || (out[v] && (used[size_t(out[v].id)] || graph.shape(Value{int(v)}).elements() == 0))) out[v] = {};
  return out;
}

Value viewed(const Graph& graph, Value value) {
  while (is_view(graph, graph.producer_index(value))) value = graph.producer(value).inputs[0];
  return value;
}

std::vector<std::vector<int>> successors(const Graph& graph) {
  const Edges data = data_edges(graph);
  Edges next = data;
  for (const Assignment& a : graph.assignments()) {
    const int writer = graph.producer_index(a.value);
    if (a.guard) add_edge(next, graph.producer_index(a.guard), writer);
    for (const auto& [direct, reader] : readers(graph, data, a.variable))
      if (reader != writer) add_edge(next, reader, writer);
  }
  return next;
}

}  // namespace neon
