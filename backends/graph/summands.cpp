// The gradient by the result of a concatenation is often a sum, of what the branches after it give back, and all that
// happens to it is that each branch before it takes its part. Made as a whole it is written and read once more than
// when each branch adds up its part of the summands in the kernel that goes on with it.
#include <algorithm>
#include <map>

#include "backends/graph/fuse.h"
#include "backends/graph/passes.h"
#include "backends/graph/rewrite.h"

namespace neon {

namespace {

// By value: whether slices along one axis are all that reads it, and they have no element in common.
std::vector<bool> only_sliced(const Graph& graph) {
  const std::vector<bool> live = live_nodes(graph);
  struct Reading {
    bool sliced = true;
    int64_t axis = -1;
    std::vector<std::pair<int64_t, int64_t>> parts;  // first, and the one after the last
  };
  std::vector<Reading> readings(size_t(graph.value_count()));
  auto read_whole = [&](Value value) {
    if (value) readings[size_t(value.id)].sliced = false;
  };
  for (int n = 0; n < graph.node_count(); ++n) {
    if (!live[size_t(n)]) continue;
    const Node& node = graph.node(n);
    for (Value input : node.inputs) {
      Reading& reading = readings[size_t(input.id)];
      if (node.op->name != "slice") {
        reading.sliced = false;
        continue;
      }
      const int64_t axis = node.attributes.integer("axis"), first = node.attributes.integer("first");
      reading.sliced = reading.sliced && (reading.axis < 0 || reading.axis == axis);
      reading.axis = axis;
      reading.parts.push_back({first, first + node.attributes.integer("count")});
    }
  }
  for (const auto& [name, value] : graph.outputs()) read_whole(value);
  for (const Assignment& a : graph.assignments()) read_whole(a.variable), read_whole(a.value), read_whole(a.guard);
  std::vector<bool> out;
  for (Reading& reading : readings) {
    std::ranges::sort(reading.parts);
    bool apart = reading.sliced && !reading.parts.empty();
    for (size_t i = 1; i < reading.parts.size(); ++i)
      apart = apart && reading.parts[i - 1].second <= reading.parts[i].first;
    out.push_back(apart);
  }
  return out;
}

// What the parts of a sum may be read of: arrays that are in memory anyway, or sums of such that are for nothing else.
// All else would have to be put there first.
class Summands {
 public:
  explicit Summands(const Graph& graph) : graph_(graph), roles_(roles(graph)), edges_(data_edges(graph)) {}

  bool are_at_hand(const Node& sum) const {
    return std::ranges::all_of(sum.inputs, [&](Value summand) {
      if (graph_.type(summand) != graph_.type(sum.outputs[0])) return false;
      const int maker = graph_.producer_index(viewed(graph_, summand));
      const Role role = roles_[size_t(maker)];
      if (role == Role::opaque || role == Role::leaf) return true;
      const Node& node = graph_.node(maker);
      return viewed(graph_, summand) == summand && node.op->name == "add" && edges_[size_t(maker)].size() == 1 &&
             are_at_hand(node);
    });
  }

 private:
  const Graph& graph_;
  const std::vector<Role> roles_;
  const Edges edges_;
};

// One round: sums whose summands are sums are slices of those afterwards.
Graph with_slices_of_sums(const Graph& graph, bool& found) {
  const std::vector<bool> sliced = only_sliced(graph);
  const Summands at_hand(graph);
  std::map<Value, std::vector<Value>> summands;  // of values of the new graph
  return rewritten(graph, [&](Graph& to, const Node& node) {
    std::vector<Value> out;
    const Value result = node.outputs[0];
    if (node.op->name == "add" && sliced[size_t(result.id)] && at_hand.are_at_hand(graph.producer(result))) {
      out = {to.add("add", node.inputs)};
      summands[out[0]] = node.inputs;
    } else if (node.op->name == "slice" && summands.count(node.inputs[0])) {
      std::vector<Value> parts;
      for (Value summand : summands.at(node.inputs[0])) parts.push_back(to.add("slice", {summand}, node.attributes));
      out = {to.add("add", parts)};
      found = true;
    }
    return out;
  });
}

}  // namespace

Graph with_slices_of_summands(const Graph& graph) {
  Graph out = graph;
  bool found = true;
  while (found) {
    found = false;
    out = with_slices_of_sums(out, found);
  }
  return out;
}

}  // namespace neon
