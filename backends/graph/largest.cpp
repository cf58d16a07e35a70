#include <algorithm>

#include "backends/graph/lower.h"
#include "backends/graph/op.h"
#include "neon/core/text.h"

namespace neon {

std::string largest_array(const Lowered& lowered) {
  const Graph& graph = lowered.graph;
  const auto bytes = [&](Value value) { return graph.type(value).bytes(); };
  std::vector<Value> held = graph.leaves(LeafKind::variable);
  for (int v = 0; v < graph.value_count(); ++v)
    if (lowered.buffers[size_t(v)].bytes) held.push_back(Value{v});
  if (held.empty()) return "none";
  const Value largest = *std::ranges::max_element(held, {}, bytes);
  const Node& maker = graph.producer(largest);
  const std::string of = maker.scope.empty() ? "" : " of " + maker.scope;
  const std::string name =
      maker.op->traits.leaf == LeafKind::variable ? maker.attributes.string("name") : "a value" + of;
  return text(name, ", ", graph.type(largest).to_string(), ": ", bytes_text(double(bytes(largest))));
}

}  // namespace neon
