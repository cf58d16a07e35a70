// Weights in 16 bits beside their masters: w16 = cast(w). An update w := u has the new master at hand and writes its
// cast, too, w16 := cast(u), stopped by the same guard, so that w16 is there when the next run begins.
#include <map>
#include <set>

#include "backends/graph/expression.h"
#include "backends/graph/ops.h"
#include "backends/graph/passes.h"
#include "backends/graph/rewrite.h"

namespace neon {

namespace {

// Whether a node casts a variable to a type of fewer bytes, and is not kept already.
bool is_narrowing(const Graph& graph, const Node& node) {
  if (node.attributes.has(kKept)) return false;
  if (!node.op->is(ops::cast) || graph.producer(node.inputs[0]).op->traits.leaf != LeafKind::variable) return false;
  const DType from = graph.dtype(node.inputs[0]), to = graph.dtype(node.outputs[0]);
  const bool narrower = is_floating(from) && is_floating(to) && size_of(to) < size_of(from);
  return narrower && graph.shape(node.outputs[0]).elements() > 0;
}

// The casts that are kept: all but those that the caller is shown as they were before the run.
std::set<Value> kept_casts(const Graph& graph) {
  std::set<Value> out;
  const std::vector<bool> live = live_nodes(graph);
  for (int n = 0; n < graph.node_count(); ++n)
    if (live[size_t(n)] && is_narrowing(graph, graph.node(n))) out.insert(graph.node(n).outputs[0]);
  for (const auto& [name, value] : graph.outputs()) out.erase(value);
  return out;
}

}  // namespace

Graph with_kept_casts(const Graph& graph) {
  const std::set<Value> kept = kept_casts(graph);
  if (kept.empty()) return graph;
  std::map<Value, std::set<DType>> casts;  // by value that a variable becomes
  for (const Assignment& a : graph.assignments())
    for (Value value : kept)
      if (graph.producer(value).inputs[0] == a.variable) casts[a.value].insert(graph.dtype(value));
  std::set<Value> made;
  Graph out = rewritten(graph, [&](Graph& to, const Node& node) {
    std::vector<Value> results;
    if (kept.count(node.outputs[0])) {
      results = to.add_all(ops::cast, node.inputs, node.attributes.with(kKept, int64_t(1)));
      made.insert(results[0]);
      return results;
    }
    // Right behind what makes the new value, so that both come to be in one kernel.
    for (size_t k = 0; k < node.outputs.size(); ++k)
      if (const auto found = casts.find(node.outputs[k]); found != casts.end()) {
        results = to.add_all(node.op->name, node.inputs, node.attributes);
        for (DType dtype : found->second) cast(to, results[k], dtype);
      }
    return results;
  });
  for (const Assignment& a : std::vector(out.assignments()))
    for (Value value : made)
      if (out.producer(value).inputs[0] == a.variable) out.assign(value, cast(out, a.value, out.dtype(value)), a.guard);
  return out;
}

}  // namespace neon
