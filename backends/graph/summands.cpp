// The gradient by the result of a concatenation is often a sum, of what the branches after it give back, and all that
// happens to it is that each branch before it takes its part. Made as a whole it is written and read once more than
// when each branch adds up its part of the summands in the kernel that goes on with it.
#include <algorithm>
#include <map>

#include "backends/graph/fuse.h"
#include "backends/graph/ops.h"
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
      if (!node.op->is(ops::slice)) {
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

// Which sums are taken apart.
class Sums {
 public:
  explicit Sums(const Graph& graph) : graph_(graph), roles_(roles(graph)), edges_(data_edges(graph)) {}

  // By value, given those that only slices read.
  std::vector<bool> taken(const std::vector<int>& sliced) {
    taken_.assign(size_t(graph_.value_count()), false);
    for (int n : sliced)
      if (are_at_hand(graph_.node(n))) take(n);
    return taken_;
  }

 private:
  // Whether all summands are arrays that are in memory anyway, or sums of such that are for nothing else. All else
  // would have to be put there first.
  bool are_at_hand(const Node& sum) const {
    return std::ranges::all_of(sum.inputs, [&](Value summand) {
      if (graph_.type(summand) != graph_.type(sum.outputs[0])) return false;
      const Role role = roles_[size_t(graph_.producer_index(viewed(graph_, summand)))];
      return role == Role::opaque || role == Role::leaf || (is_inner(summand) && are_at_hand(graph_.producer(summand)));
    });
  }
  bool is_inner(Value summand) const {
    return graph_.producer(summand).op->is(ops::add) && edges_[size_t(graph_.producer_index(summand))].size() == 1;
  }

  void take(int sum) {
    taken_[size_t(graph_.node(sum).outputs[0].id)] = true;
    for (Value summand : graph_.node(sum).inputs)
      if (is_inner(summand)) take(graph_.producer_index(summand));
  }

  const Graph& graph_;
  const std::vector<Role> roles_;
  const Edges edges_;
  std::vector<bool> taken_;
};

// A slice of a sum: the sum of slices of its summands, those of sums among them likewise.
Value sliced_sum(Graph& to, Value of, const Attributes& slice, const std::map<Value, std::vector<Value>>& summands) {
  const auto found = summands.find(of);
  if (found == summands.end()) return to.add(ops::slice, {of}, slice);
  std::vector<Value> parts;
  for (Value summand : found->second) parts.push_back(sliced_sum(to, summand, slice, summands));
  return to.add(ops::add, parts);
}

}  // namespace

Graph with_slices_of_summands(const Graph& graph) {
  const std::vector<bool> sliced = only_sliced(graph);
  std::vector<int> sums;
  for (int n = 0; n < graph.node_count(); ++n)
    if (graph.node(n).op->is(ops::add) && sliced[size_t(graph.node(n).outputs[0].id)]) sums.push_back(n);
  if (sums.empty()) return graph;
  const std::vector<bool> taken = Sums(graph).taken(sums);
  std::map<Value, std::vector<Value>> summands;  // of values of the new graph
  return rewritten(graph, [&](Graph& to, const Node& node) {
    std::vector<Value> out;
    if (taken[size_t(node.outputs[0].id)]) {
      out = {to.add(ops::add, node.inputs)};
      summands[out[0]] = node.inputs;
    } else if (node.op->is(ops::slice) && summands.count(node.inputs[0])) {
      out = {sliced_sum(to, node.inputs[0], node.attributes, summands)};
    }
    return out;
  });
}

}  // namespace neon
