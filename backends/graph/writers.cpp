// Gives every assignment a node that can write its variable, and outputs and opaque kernels arrays where the graph
// has numbers that are made in place. After this, the order given by successors() has no cycle.
#include <algorithm>

#include "backends/graph/expression.h"
#include "backends/graph/fuse.h"
#include "backends/graph/ops.h"
#include "backends/graph/passes.h"

namespace neon {

namespace {

// Copies a graph node by node.
class Copier {
 public:
  explicit Copier(const Graph& from) : from_(from), mapped_(size_t(from.value_count())) {
    to.sequences = from.sequences;
  }
  Graph to;

  Value find(Value value) const { return value ? mapped_[size_t(value.id)] : Value{}; }
  std::vector<Value> found(const std::vector<Value>& values) const {
    std::vector<Value> out;
    for (Value value : values) out.push_back(find(value));
    return out;
  }
  void add(int n, std::vector<Value> inputs) {
    const Node& node = from_.node(n);
    Scope scope(to, node.scope);
    const auto results = to.add_all(node.op->name, std::move(inputs), node.attributes);
    for (size_t k = 0; k < results.size(); ++k) mapped_[size_t(node.outputs[k].id)] = results[k];
  }
  // A node that moves `value` to memory of its own. Copies with different tags stay apart.
  Value copy(Value value, const std::string& tag) {
    return to.add(ops::cast, {value}, {{"dtype", int64_t(to.dtype(value))}, {"copy", tag}});
  }

 private:
  const Graph& from_;
  std::vector<Value> mapped_;
};

// Who waits for the results of each node: nobody, the assignments under one guard, or somebody who needs them
// always.
constexpr int kNobody = -2, kAlways = -1;

std::vector<int> audiences(const Graph& graph) {
  std::vector<int> out(size_t(graph.node_count()), kNobody);
  auto join = [&](Value value, int who) {
    int& now = out[size_t(graph.producer_index(value))];
    if (who != kNobody) now = now == kNobody || now == who ? who : kAlways;
  };
  for (const auto& [name, value] : graph.outputs()) join(value, kAlways);
  for (const Assignment& a : graph.assignments()) {
    join(a.value, a.guard ? a.guard.id : kAlways);
    if (a.guard) join(a.guard, kAlways);
  }
  for (int n = graph.node_count() - 1; n >= 0; --n)
    for (Value input : graph.node(n).inputs) join(input, out[size_t(n)]);
  return out;
}

Graph with_copies(const Graph& original) {
  const auto own_roles = roles(original);
  const auto waiting = audiences(original);
  const auto targets = direct_targets(original);
  Copier copier(original);
  auto role_of = [&](Value value) { return own_roles[size_t(original.producer_index(value))]; };
  auto made_in_place = [&](Value value) {
    return role_of(value) == Role::source || original.producer(value).op->is_number();
  };
  // A draw is by the element's place in its own shape: where it is repeated, it must be drawn before.
  auto repeated_draw = [&](const Node& node, Value input) {
    return original.producer(input).op->is(ops::uniform) && !is_reduction(*node.op) &&
           !same_but_leading_ones(original.shape(input), original.shape(node.outputs[0]));
  };
  for (int n = 0; n < original.node_count(); ++n) {
    const Node& node = original.node(n);
    const bool array_needed =
        own_roles[size_t(n)] == Role::opaque || own_roles[size_t(n)] == Role::view || reads_array(original, node);
    std::vector<Value> inputs;
    for (Value input : node.inputs) {
      const bool copied = (array_needed && made_in_place(input)) || repeated_draw(node, input);
      inputs.push_back(copied ? copier.copy(copier.find(input), "array") : copier.find(input));
    }
    copier.add(n, std::move(inputs));
  }
  for (const auto& [name, value] : original.outputs()) {
    // A variable is shown as it was before the run.
    // An array of other ranks may still be on its way, and small outputs are recorded by kernels of our own.
    const bool in_memory = !made_in_place(value) && !outlives_run(original, viewed(original, value)) &&
                           !original.producer(value).op->traits.exchanges;
    copier.to.output(name, in_memory ? copier.find(value) : copier.copy(copier.find(value), "output"));
  }
  for (const Assignment& a : original.assignments()) {
    // Nothing else of a kernel that a guard can stop may be missed, and a gather reads where others write.
    const int waits = waiting[size_t(original.producer_index(a.value))];
    // A kept cast is not made in every run.
    const bool writable = role_of(a.value) == Role::fusible && !reads_array(original, original.producer(a.value)) &&
                          !outlives_run(original, a.value) && (!a.guard || waits == a.guard.id);
    const bool direct = role_of(a.value) == Role::opaque && original.producer(a.value).outputs.size() == 1 &&
                        targets[size_t(a.value.id)];
    Value value = copier.find(a.value), guard = copier.find(a.guard);
    if (!writable && !direct) value = copier.copy(value, a.guard ? text("guarded by ", a.guard.id) : "writer");
    // A guard is read when others may have written the variable that it is.
    if (a.guard && (made_in_place(a.guard) || outlives_run(original, viewed(original, a.guard))))
      guard = copier.copy(guard, "array");
    copier.to.assign(copier.find(a.variable), value, guard);
  }
  return std::move(copier.to);
}

// All nodes that are reached from `from`, itself among them, get the mark.
void mark_reached(const std::vector<std::vector<int>>& next, int from, int mark, std::vector<int>& marks) {
  std::vector<int> queue = {from};
  marks[size_t(from)] = mark;
  while (!queue.empty()) {
    const int n = queue.back();
    queue.pop_back();
    for (int s : next[size_t(n)])
      if (marks[size_t(s)] != mark) marks[size_t(s)] = mark, queue.push_back(s);
  }
}

// A reader of a variable that can only run after the variable was written, as when two variables change places,
// reads a copy made before.
Graph with_snapshots(Graph original) {
  const auto next = successors(original);
  const Edges data = data_edges(original);
  std::vector<std::pair<int, Value>> late;                      // node, and the variable that it must not read directly
  std::vector<int> reached(size_t(original.node_count()), -1);  // by the writer of that number
  for (const Assignment& a : original.assignments()) {
    const int writer = original.producer_index(a.value);
    mark_reached(next, writer, writer, reached);
    for (const auto& [direct, reader] : readers(original, data, a.variable))
      if (reader != writer && reached[size_t(reader)] == writer) late.push_back({direct, a.variable});
  }
  if (late.empty()) return original;
  Copier copier(original);
  for (int n = 0; n < original.node_count(); ++n) {
    std::vector<Value> inputs;
    for (Value input : original.node(n).inputs) {
      const bool early = std::ranges::count(late, std::pair(n, input)) > 0;
      inputs.push_back(early ? copier.copy(copier.find(input), "before") : copier.find(input));
    }
    copier.add(n, std::move(inputs));
  }
  for (const auto& [name, value] : original.outputs()) copier.to.output(name, copier.find(value));
  for (const Assignment& a : original.assignments())
    copier.to.assign(copier.find(a.variable), copier.find(a.value), copier.find(a.guard));
  return std::move(copier.to);
}

}  // namespace

Graph with_writers(const Graph& original) { return with_snapshots(with_copies(original)); }

}  // namespace neon
