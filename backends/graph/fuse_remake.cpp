// Instead of storing a value for another group, a group lets that group make the value again if that costs little.
// Batch norm's gradient, for example, needs the normalised x in f32. It follows from x, which the convolution stored in
// 16 bits, by a subtraction and a product. The first group then stores nothing for it, and the second reads less.
// A value that must be stored for others is made again, too, by a group that reads all it is made from anyway: relu's
// derivative needs the result of batch norm, whose gradient reads x.
// Groups that write variables stay as they are, and no large variable is read again: its memory may be another value's
// by then. Small ones are, before they are written (Lowerer::order), by groups that need not run after that.
#include <algorithm>
#include <map>
#include <set>

#include "backends/graph/fuse.h"
#include "backends/graph/ops.h"

namespace neon {

namespace {

constexpr size_t kMostRemade = 10;  // nodes for one value
constexpr int64_t kSmall = 16;      // an array with so many times fewer elements is rather stored
constexpr double kWorth = 1.125;    // bytes read in place of one that is neither stored nor read

class Remaker {
 public:
  Remaker(const Graph& graph, const std::vector<Role>& roles, Groups groups)
      : graph_(graph),
        roles_(roles),
        next_(successors(graph)),
        uses_(size_t(graph.value_count())),
        groups_of_(size_t(graph.node_count())),
        out_(std::move(groups)) {
    for (int n = 0; n < graph.node_count(); ++n) {
      if (out_.home[size_t(n)] >= 0) groups_of_[size_t(n)] = {out_.home[size_t(n)]};
      for (Value input : graph.node(n).inputs) uses_[size_t(input.id)].push_back(n);
    }
    for (const auto& [name, value] : graph.outputs()) stored_.insert(value);
    for (const Assignment& a : graph.assignments()) {
      stored_.insert({a.value, a.guard});
      const int writer = graph.producer_index(a.value);
      writers_.insert(out_.home[size_t(writer)]);
      writers_of_[viewed(graph, a.variable)].push_back(writer);
    }
  }

  Groups run() {
    for (int n = graph_.node_count(); n-- > 0;) remake(n);
    for (int n = graph_.node_count(); n-- > 0;) spare_reading(n);
    return std::move(out_);
  }

 private:
  bool is_in(int group, int n) const { return groups_of_[size_t(n)].count(group) > 0; }

  // The groups that read what n makes from memory; nothing when somebody else does, too.
  std::set<int> readers(int n) const {
    std::set<int> out;
    for (int s : uses_[size_t(graph_.node(n).outputs[0].id)]) {
      if (groups_of_[size_t(s)].empty()) return {};
      for (int g : groups_of_[size_t(s)])
        if (!is_in(g, n)) out.insert(g);
    }
    return out;
  }

  void remake(int n) {
    const int from = out_.home[size_t(n)];
    if (from < 0 || writers_.count(from)) return;
    std::map<int, std::vector<int>> made;
    for (int reader : readers(n)) {
      std::set<int> nodes;
      std::set<Value> read;
      if (writers_.count(reader) || !collect(n, from, reader, graph_.type(graph_.node(n).outputs[0]), nodes, read))
        return;
      double bytes = 0;
      for (Value value : read) bytes += double(graph_.type(value).bytes());
      if (is_repeated_slice(n, reader)) bytes = 0;  // it reads no more of the array than it would store
      if (bytes > kWorth * double(graph_.type(graph_.node(n).outputs[0]).bytes())) return;
      made[reader] = joined(reader, nodes);
      if (!layout_of_group(graph_, roles_, made[reader])) return;
    }
    for (const auto& [reader, nodes] : made) give(reader, nodes);
    if (!made.empty()) drop_unread(from);
  }

  // Groups that read what n makes make it themselves where they need no other large array for that.
  void spare_reading(int n) {
    const int from = out_.home[size_t(n)];
    if (from < 0 || writers_.count(from)) return;
    const TensorType& type = graph_.type(graph_.node(n).outputs[0]);
    std::set<int> readers;
    for (int s : uses_[size_t(graph_.node(n).outputs[0].id)])
      for (int g : groups_of_[size_t(s)])
        if (!is_in(g, n) && !writers_.count(g)) readers.insert(g);
    for (int reader : readers) {
      std::set<int> nodes;
      std::set<Value> read;
      if (!collect(n, from, reader, type, nodes, read)) continue;
      const int64_t elements = type.shape.elements();
      if (std::ranges::any_of(read, [&](Value v) { return graph_.shape(v).elements() * kSmall > elements; })) continue;
      const std::vector<int> made = joined(reader, nodes);
      if (layout_of_group(graph_, roles_, made)) give(reader, made);
    }
  }

  // A group's nodes and these, in order.
  std::vector<int> joined(int group, std::set<int> nodes) const {
    nodes.insert(out_.nodes[size_t(group)].begin(), out_.nodes[size_t(group)].end());
    return {nodes.begin(), nodes.end()};
  }

  void give(int group, const std::vector<int>& nodes) {
    for (int n : nodes) groups_of_[size_t(n)].insert(group);
    out_.nodes[size_t(group)] = nodes;
  }

  // Whether a node is made again for values of this type: derivatives of activations only for wide ones. In place of
  // 16 bits they take instructions and more operands, and spare a reading at best.
  bool pays(const Node& node, DType dtype) const {
    const bool of_activation = node.op->derivative_operand >= 0 && node.op->row->name != std::string_view(ops::mul);
    return is_cheap(graph_, node) && (!of_activation || size_of(dtype) >= sizeof(float));
  }

  // The nodes that make what n makes in group `reader`, and the arrays that it must read for that. `made`: the type of
  // what is made again at last.
  bool collect(int n, int from, int reader, const TensorType& made, std::set<int>& nodes, std::set<Value>& read) const {
    const Shape& shape = made.shape;
    const Node& node = graph_.node(n);
    const bool cheap = pays(node, made.dtype) || is_repeated_slice(n, reader);
    if (!cheap || stored_.count(node.outputs[0]) || nodes.size() == kMostRemade) return false;
    nodes.insert(n);
    for (Value input : node.inputs) {
      const int p = graph_.producer_index(input);
      if (graph_.node(p).op->is_number() || roles_[size_t(p)] == Role::source) continue;
      if (outlives_run(graph_, viewed(graph_, input)) && graph_.shape(input).elements() * kSmall > shape.elements())
        return false;
      if (nodes.count(p) || is_in(reader, p) || is_read(reader, input)) continue;
      if (is_in(from, p) && graph_.shape(input).elements() * kSmall > shape.elements()) {
        if (!collect(p, from, reader, made, nodes, read)) return false;
      } else if (is_written_before(input, reader)) {
        return false;
      } else {
        read.insert(input);
      }
    }
    return true;
  }

  // Whether a group reads a slice to repeat it: numbers of channels for each pixel.
  bool is_repeated_slice(int n, int group) const {
    const Value slice = graph_.node(n).outputs[0];
    return is_fused_slice(graph_, graph_.node(n)) && std::ranges::all_of(uses_[size_t(slice.id)], [&](int s) {
             return !is_in(group, s) ||
                    graph_.shape(graph_.node(s).outputs[0]).elements() > graph_.shape(slice).elements();
           });
  }

  // Whether a group must run after somebody who writes the variable that `value` is or shows.
  bool is_written_before(Value value, int group) const {
    const auto found = writers_of_.find(viewed(graph_, value));
    return found != writers_of_.end() &&
           std::ranges::any_of(found->second, [&](int writer) { return leads_to(writer, group); });
  }

  // Whether the kernel of a node must run before that of a group.
  bool leads_to(int from, int group) const {
    std::vector<bool> seen(groups_of_.size(), false);
    std::vector<int> open;
    const auto reach = [&](int n) {
      if (!seen[size_t(n)]) seen[size_t(n)] = true, open.push_back(n);
    };
    for (reach(from); !open.empty();) {
      const int n = open.back();
      open.pop_back();
      if (is_in(group, n)) return true;
      for (int g : groups_of_[size_t(n)])
        for (int beside : out_.nodes[size_t(g)]) reach(beside);
      for (int s : next_[size_t(n)]) reach(s);
    }
    return false;
  }

  bool is_read(int group, Value value) const {
    return std::ranges::any_of(uses_[size_t(value.id)], [&](int s) { return is_in(group, s); });
  }

  // Takes from a group what is made in it for nobody.
  void drop_unread(int group) {
    std::vector<int> left = out_.nodes[size_t(group)];
    for (size_t i = left.size(); i-- > 0;) {
      const int n = left[i];
      const auto& uses = uses_[size_t(graph_.node(n).outputs[0].id)];
      const bool here = std::ranges::any_of(uses, [&](int s) { return std::ranges::count(left, s) > 0; });
      const bool elsewhere = groups_of_[size_t(n)].size() > 1 && readers(n).empty() &&
                             !stored_.count(graph_.node(n).outputs[0]) && !has_other_readers(n);
      if (!here && elsewhere) left.erase(left.begin() + int64_t(i));
    }
    if (!left.empty() && !layout_of_group(graph_, roles_, left)) return;
    for (int n : out_.nodes[size_t(group)]) {
      if (std::ranges::count(left, n)) continue;
      groups_of_[size_t(n)].erase(group);
      out_.home[size_t(n)] = *groups_of_[size_t(n)].begin();
    }
    out_.nodes[size_t(group)] = std::move(left);
  }

  bool has_other_readers(int n) const {
    return std::ranges::any_of(uses_[size_t(graph_.node(n).outputs[0].id)],
                               [&](int s) { return groups_of_[size_t(s)].empty(); });
  }

  const Graph& graph_;
  const std::vector<Role>& roles_;
  const std::vector<std::vector<int>> next_;      // by node: those that must run after it
  std::vector<std::vector<int>> uses_;            // by value: nodes
  std::vector<std::set<int>> groups_of_;          // by node
  std::set<Value> stored_;                        // for the caller
  std::set<int> writers_;                         // groups that write variables
  std::map<Value, std::vector<int>> writers_of_;  // by variable: nodes whose values it gets
  Groups out_;
};

}  // namespace

bool is_cheap(const Graph& graph, const Node& node) {
  return node.op->traits.cheap || (node.op->is(ops::cast) && is_floating(graph.dtype(node.outputs[0])) &&
                                   is_floating(graph.dtype(node.inputs[0])));
}

Groups with_remade(const Graph& graph, const std::vector<Role>& roles, Groups groups) {
  return Remaker(graph, roles, std::move(groups)).run();
}

}  // namespace neon
