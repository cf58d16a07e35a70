// Greedy grouping: every fusible node starts alone. Readers of one large array come first. Then, along each edge,
// producer and consumer become one group when they fit one kernel and no path between them leaves the group. Then
// groups that write variables under the same guard are joined side by side (the update of all parameters is one
// kernel), and so are totals with the scalar that gathers them, and what is drawn; on some devices what reads or makes
// columns of one array. At last, what only a later group reads moves there where that group has at hand what it is made
// from.
#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

#include "backends/graph/fuse.h"
#include "backends/graph/group_paths.h"
#include "backends/graph/ops.h"

namespace neon {

namespace {

constexpr size_t kMostColumns = 16;  // segments of a kernel that are joined for the columns of one array

class Grouper {
 public:
  Grouper(const Graph& graph, const std::vector<Role>& roles, const std::vector<bool>& taken,
          const std::vector<std::vector<int>>& next)
      : graph_(graph),
        roles_(roles),
        next_(next),
        group_of_(size_t(graph.node_count())),
        fusible_(fusible_nodes(roles, taken)),
        writes_(next.size(), false),
        seen_outside_(next.size(), false),
        ends_run_(next.size(), false),
        guard_(next.size()),
        assigned_(next.size()),
        paths_(next, fusible_) {
    // Every node that runs is a group at first, also those that are never fused: they may lie on a path.
    for (int n = 0; n < graph.node_count(); ++n) {
      groups_.push_back({n});
      sizes_.push_back(size_of_group(graph, groups_.back()));
      group_of_[size_t(n)] = n;
      kept_.push_back(graph.node(n).attributes.has(kKept));
      stamps_.push_back(n);
    }
    stamp_ = graph.node_count();
    for (const auto& [name, value] : graph.outputs()) seen_outside_[size_t(graph.producer_index(value))] = true;
    std::map<Value, std::vector<int>> readers;  // of memory, by the value that owns it
    for (int n = 0; n < graph.node_count(); ++n)
      for (Value input : graph.node(n).inputs) {
        std::vector<int>& of_input = readers[viewed(graph, input)];
        if (of_input.empty() || of_input.back() != n) of_input.push_back(n);
      }
    for (const Assignment& a : graph.assignments()) {
      const size_t writer = size_t(graph.producer_index(a.value));
      guard_[writer] = a.guard;
      writes_[writer] = true;
      assigned_[writer].push_back({a, readers[viewed(graph, a.variable)]});
      ends_run_[writer] = true;
      if (a.guard) ends_run_[size_t(graph.producer_index(a.guard))] = true;
    }
  }

  void fuse(bool columns) {
    for (const std::set<int>& nodes : passes_over_large_arrays(graph_, roles_, fusible_, next_))
      join_edges_between(nodes);
    // A group that reduces takes in smaller ones that did not fit before, hence the rounds.
    while (join_along_edges()) {
    }
    join_side_by_side();
    if (columns) join_columns();
    // Nodes that several of these groups need can now go along.
    while (join_along_edges()) {
    }
    bool moved = true;
    while (moved) {
      moved = false;
      for (int n = graph_.node_count(); n-- > 0;) moved = try_move(n) || moved;
    }
  }

  Groups result() const {
    Groups out{{}, std::vector<int>(groups_.size(), -1)};
    for (const auto& nodes : groups_) {
      if (nodes.empty() || !fusible_[size_t(nodes.front())]) continue;
      for (int n : nodes) out.home[size_t(n)] = int(out.nodes.size());
      out.nodes.push_back(nodes);
    }
    return out;
  }

 private:
  // The assignment by a node, and the nodes that read the variable's memory.
  struct Write {
    Assignment assignment;
    std::vector<int> readers;
  };

  void join_edges_between(const std::set<int>& nodes) {
    for (bool joined = true; joined;) {
      joined = false;
      for (int n : nodes)
        for (Value input : graph_.node(n).inputs)
          if (const int maker = graph_.producer_index(input); nodes.count(maker))
            joined = try_join(group_of_[size_t(maker)], group_of_[size_t(n)]) || joined;
    }
  }

  bool join_along_edges() {
    bool joined = false;
    for (int n = 0; n < graph_.node_count(); ++n) {
      if (!fusible_[size_t(n)]) continue;
      // A number that takes a total goes with it: together with what comes before totals it could not.
      for (bool totals : {true, false})
        for (Value input : graph_.node(n).inputs) {
          const int p = graph_.producer_index(input);
          if (fusible_[size_t(p)] && is_total(graph_, graph_.node(p)) == totals)
            joined = try_join(group_of_[size_t(p)], group_of_[size_t(n)]) || joined;
        }
    }
    return joined;
  }

  bool guards_agree(int a, int b) const {
    const bool guarded = guard_[size_t(a)] || guard_[size_t(b)];
    if (!guarded) return true;
    if (guard_[size_t(a)] && guard_[size_t(b)]) return guard_[size_t(a)] == guard_[size_t(b)];
    // The unguarded one may go along only if nobody else reads it.
    const int plain = guard_[size_t(a)] ? b : a, other = guard_[size_t(a)] ? a : b;
    if (writes_[size_t(plain)]) return false;
    for (int n : groups_[size_t(plain)]) {
      for (int s : next_[size_t(n)]) {
        const int g = group_of_[size_t(s)];
        if (g != plain && g != other) return false;
      }
      if (seen_outside_[size_t(n)]) return false;
      const Value guard = guard_[size_t(other)];
      if (graph_.producer_index(guard) == n) return false;
    }
    return true;
  }

  // Joins two groups if the result has at most `most_parts` segments.
  bool try_join(int a, int b, size_t most_parts = SIZE_MAX) {
    if (a == b || kept_[size_t(a)] != kept_[size_t(b)]) return false;
    GroupSize size = sizes_[size_t(a)];
    size.add(sizes_[size_t(b)]);
    if (!size.fits()) return false;
    // Two groups that did not fit while they were as they are do not fit later: paths between them only become more.
    const uint64_t pair = uint64_t(stamps_[size_t(a)]) << 32 | uint32_t(stamps_[size_t(b)]);
    if (failed_.count(pair)) return false;
    if (may_join(a, b, most_parts)) return join(a, b), true;
    // Fewer parts than others may have.
    if (most_parts == SIZE_MAX) failed_.insert(pair);
    return false;
  }

  bool may_join(int a, int b, size_t most_parts) {
    return guards_agree(a, b) && fits_a_kernel(joined(a, b), most_parts) && !paths_.leads_outside(a, b);
  }

  std::vector<int> joined(int a, int b) const {
    std::vector<int> nodes = groups_[size_t(a)];
    nodes.insert(nodes.end(), groups_[size_t(b)].begin(), groups_[size_t(b)].end());
    std::ranges::sort(nodes);
    return nodes;
  }

  void join(int a, int b) {
    std::vector<int> nodes = joined(a, b);
    paths_.join(a, b);
    sizes_[size_t(a)].add(sizes_[size_t(b)]);
    stamps_[size_t(a)] = stamp_++;
    for (int n : groups_[size_t(b)]) group_of_[size_t(n)] = a;
    groups_[size_t(a)] = std::move(nodes);
    groups_[size_t(b)].clear();
    if (guard_[size_t(b)]) guard_[size_t(a)] = guard_[size_t(b)];
    writes_[size_t(a)] = writes_[size_t(a)] || writes_[size_t(b)];
  }

  // A variable written by this kernel may be read in it only element by element: by elementwise nodes of its
  // own shape in the segment that writes it. One number in a segment over many elements is written by the first
  // tile while others may still read it.
  bool writes_in_place(const Write& write, const std::vector<int>& nodes, const GroupLayout& layout) const {
    const Assignment& a = write.assignment;
    auto part_of = [&](int n) {
      for (size_t i = 0; i < layout.parts.size(); ++i)
        if (std::ranges::count(layout.parts[i].nodes, n)) return int(i);
      return -1;
    };
    const int writer = graph_.producer_index(a.value);
    for (int n : write.readers) {
      if (!std::ranges::binary_search(nodes, n)) continue;
      const Node& node = graph_.node(n);
      const int part = part_of(n);
      if (!std::ranges::count(node.inputs, a.variable) || reads_array(graph_, node)) return false;
      if (part != part_of(writer) || is_reduction(*node.op)) return false;
      if (graph_.shape(node.outputs[0]) != graph_.shape(a.value)) return false;
      const bool one = graph_.shape(a.value).elements() == 1;
      if (one && part >= 0 && layout.parts[size_t(part)].domain.elements() > 1) return false;
    }
    return true;
  }

  bool fits_a_kernel(const std::vector<int>& nodes, size_t most_parts = SIZE_MAX) const {
    const auto layout = layout_of_group(graph_, roles_, nodes, false);
    return layout && layout->parts.size() <= most_parts && std::ranges::all_of(nodes, [&](int n) {
             return std::ranges::all_of(assigned_[size_t(n)],
                                        [&](const Write& write) { return writes_in_place(write, nodes, *layout); });
           });
  }

  // The group of all that take node n's results, -1 when there are several, or others.
  int only_reader(int n) const {
    int reader = -1;
    for (int s : next_[size_t(n)]) {
      const int g = group_of_[size_t(s)];
      if (!fusible_[size_t(s)] || (reader >= 0 && g != reader)) return -1;
      reader = g;
    }
    return seen_outside_[size_t(n)] || ends_run_[size_t(n)] ? -1 : reader;
  }

  bool reads(int group, Value value) const {
    return std::ranges::any_of(groups_[size_t(group)],
                               [&](int n) { return std::ranges::count(graph_.node(n).inputs, value) > 0; });
  }

  bool is_made_anywhere(Value value) const {
    const int p = graph_.producer_index(value);
    if (is_converting_load(graph_, roles_, p)) return false;
    return roles_[size_t(p)] == Role::source || graph_.node(p).op->is_number();
  }

  // Node n from its group to the only one that reads it, which then reads an array less.
  bool try_move(int n) {
    const Node& node = graph_.node(n);
    const int from = group_of_[size_t(n)];
    if (!fusible_[size_t(n)] || kept_[size_t(n)] || is_reduction(*node.op) || groups_[size_t(from)].size() == 1)
      return false;
    const int to = only_reader(n);
    if (to < 0 || to == from) return false;
    for (Value input : node.inputs)
      if (!is_made_anywhere(input) && !reads(to, input)) return false;
    std::vector<int> left = groups_[size_t(from)], joined = groups_[size_t(to)];
    std::erase(left, n);
    joined.insert(std::ranges::upper_bound(joined, n), n);
    for (const auto& nodes : {left, joined})
      if (!fits_a_kernel(nodes)) return false;
    groups_[size_t(from)] = std::move(left);
    groups_[size_t(to)] = std::move(joined);
    group_of_[size_t(n)] = to;
    return true;
  }

  void join_side_by_side() {
    std::vector<int> writers, kept, draws;
    for (size_t g = 0; g < groups_.size(); ++g) {
      if (groups_[g].empty() || !fusible_[size_t(groups_[g].front())]) continue;
      if (guard_[g]) writers.push_back(int(g));
      else if (kept_[g]) kept.push_back(int(g));
      else if (is_drawn(groups_[g])) draws.push_back(int(g));
    }
    join_each(writers);
    join_each(kept);
    join_each(draws);
  }

  // Joins groups that read or make columns of one array, or read the arrays that one kernel makes. Branches read
  // columns of the gradient by their concatenation, and make columns of the concatenation itself; attention's gradient
  // makes three arrays, whose sums are gradients of biases. One launch for all keeps the GPU busy where a part alone
  // would not.
  void join_columns() {
    std::map<Value, std::vector<int>> readers, makers;  // nodes
    std::map<int, std::vector<int>> sums;               // nodes, by the node that makes what they add up
    for (int n = 0; n < graph_.node_count(); ++n) {
      const Node& node = graph_.node(n);
      if (is_reduction(*node.op)) {
        const int maker = graph_.producer_index(viewed(graph_, node.inputs[0]));
        if (graph_.node(maker).outputs.size() > 1) sums[maker].push_back(n);
      }
      const bool slice = node.op->is(ops::slice);
      if (!slice && !node.op->is(ops::concat)) continue;
      const Value whole = slice ? node.inputs[0] : node.outputs[0];
      if (node.attributes.integer("axis") != graph_.shape(whole).rank() - 1) continue;
      if (slice) readers[whole].push_back(n);
      else
        for (Value part : node.inputs) makers[whole].push_back(graph_.producer_index(part));
    }
    for (const auto* of_arrays : {&readers, &makers})
      for (const auto& [whole, nodes] : *of_arrays) join_groups_of(nodes);
    for (const auto& [maker, nodes] : sums) join_groups_of(nodes);
  }

  // Each with the one before, so that many take no longer than they must; in an arithmetic that both have.
  void join_groups_of(std::vector<int> nodes) {
    std::erase_if(nodes, [&](int n) {
      const size_t group = size_t(group_of_[size_t(n)]);
      return !fusible_[size_t(n)] || kept_[group] || guard_[group] || writes_[group] || goes_on(int(group));
    });
    for (size_t i = 1; i < nodes.size(); ++i) {
      const int a = group_of_[size_t(nodes[i - 1])], b = group_of_[size_t(nodes[i])];
      if (is_wide(a) == is_wide(b)) try_join(a, b, kMostColumns);
    }
  }

  // Whether a sum or the like of many numbers is needed for each of them again: blocks that wait for each other keep
  // what they read in registers, which fewer of them cannot.
  bool goes_on(int group) const {
    std::set<Value> folded;  // and what follows from it
    for (int n : groups_[size_t(group)]) {
      const Node& node = graph_.node(n);
      bool follows = is_reduction(*node.op) && !is_total(graph_, node);
      for (Value input : node.inputs) {
        if (!folded.count(input)) continue;
        if (graph_.shape(node.outputs[0]).elements() > graph_.shape(input).elements()) return true;
        follows = true;
      }
      if (follows) folded.insert(node.outputs[0]);
    }
    return false;
  }

  // Whether a kernel with the group computes in f64.
  bool is_wide(int group) const {
    return std::ranges::any_of(groups_[size_t(group)], [&](int n) {
      const DType dtype = graph_.dtype(graph_.node(n).outputs[0]);
      return dtype == DType::f64 || dtype == DType::i32 || dtype == DType::i64;
    });
  }

  // Made from no array, or from few numbers drawn for each sample. Integers are made in an arithmetic of their own.
  bool is_drawn(const std::vector<int>& nodes) const {
    return std::ranges::all_of(nodes, [&](int n) {
      const Node& node = graph_.node(n);
      return is_floating(graph_.dtype(node.outputs[0])) && std::ranges::all_of(node.inputs, [&](Value input) {
               return is_made_anywhere(input) || graph_.producer(viewed(graph_, input)).op->traits.draws ||
                      std::ranges::count(nodes, graph_.producer_index(input)) > 0;
             });
    });
  }

  // Each takes in those behind it that fit, as long as it has room for the smallest of them.
  void join_each(const std::vector<int>& groups) {
    std::vector<GroupSize> least(groups.size() + 1,
                                 {INT64_MAX / 2, 0});  // of those behind; totals: whether one has any
    for (size_t i = groups.size(); i-- > 0;) {
      const GroupSize& size = sizes_[size_t(groups[i])];
      least[i] = {std::min(least[i + 1].computing, size.computing),
                  std::max<int64_t>(least[i + 1].totals, size.totals > 0)};
    }
    for (size_t i = 0; i < groups.size(); ++i) {
      const size_t into = size_t(groups[i]);
      for (size_t j = i + 1; j < groups.size() && !groups_[into].empty(); ++j) {
        const GroupSize& own = sizes_[into];
        if (!GroupSize{own.computing + least[j].computing, std::max<int64_t>(own.totals > 0, least[j].totals)}.fits())
          break;
        const size_t other = size_t(groups[j]);
        if (!groups_[other].empty() && guard_[into] == guard_[other]) try_join(groups[i], groups[j]);
      }
    }
  }

  static std::vector<bool> fusible_nodes(const std::vector<Role>& roles, const std::vector<bool>& taken) {
    std::vector<bool> out;
    for (size_t n = 0; n < roles.size(); ++n) out.push_back(roles[n] == Role::fusible && !taken[n]);
    return out;
  }

  const Graph& graph_;
  const std::vector<Role>& roles_;
  const std::vector<std::vector<int>>& next_;
  std::vector<std::vector<int>> groups_;
  std::vector<int> group_of_;
  std::vector<bool> fusible_, writes_;
  std::vector<bool> kept_;          // by node, and so by group: kept casts share kernels with nothing else
  std::vector<bool> seen_outside_;  // by node: the caller reads it
  std::vector<bool> ends_run_;      // by node: it is written, or guards what is
  std::vector<Value> guard_;
  std::vector<std::vector<Write>> assigned_;  // of the value that a node makes
  std::vector<GroupSize> sizes_;
  std::vector<int> stamps_;  // another number whenever the group changes
  int stamp_ = 0;
  std::unordered_set<uint64_t> failed_;  // stamps of two groups
  GroupPaths paths_;
};

}  // namespace

Groups group_nodes(const Graph& graph, const std::vector<Role>& roles, const std::vector<bool>& taken,
                   const std::vector<std::vector<int>>& next, const Grouping& how) {
  Grouper grouper(graph, roles, taken, next);
  if (how.fuse) grouper.fuse(how.columns);
  return grouper.result();
}

}  // namespace neon
