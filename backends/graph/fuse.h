// Grouping of fusible nodes, and the code of a group. Used by lowering alone.
#pragma once
#include <memory>
#include <optional>
#include <set>

#include "backends/graph/fused.h"
#include "backends/graph/op.h"

namespace neon {

enum class Role : uint8_t {
  leaf,     // input, variable, scalar, constant
  source,   // made anew wherever it is used: iota, uniform, numbers of the step record; what follows from those but
            // uniform, such as a number for each channel; casts that widen an array which is repeated
  fusible,  // elementwise, cast, broadcast, gather, reductions
  view,     // reshape
  opaque,   // a kernel of its own; also what would be fusible, but has no elements to loop over
};

std::vector<Role> roles(const Graph& graph);
// A reshape that only shows its input's memory. A reshape of a single number from a fusible node is computed with that
// node instead.
bool is_view(const Graph& graph, int node);
bool is_reduction(const Op& op);
// A fusible node whose input must be an array in memory: rows that are looked up, and slices, which are walked by the
// strides of the array that they are of.
bool reads_array(const Graph& graph, const Node& node);
// A source that reads an array: what widens one that its readers repeat.
bool is_converting_load(const Graph& graph, const std::vector<Role>& roles, int node);
// Whether the node rounds to the type of its result in memory: casts to integers, and from f64. A kernel does not round
// for nodes that read the result within it.
bool rounds(const Graph& graph, const Node& node);
// Whether nothing about the node is f64.
bool is_made_in_f32(const Graph& graph, const Node& node);
bool has_f64(const Graph& graph, const std::vector<int>& nodes);
// Whether a kernel of these nodes makes the numbers of each that a kernel of the node alone makes.
bool has_one_arithmetic(const Graph& graph, const std::vector<Role>& roles, const std::vector<int>& nodes);
// The arithmetic of a kernel of these nodes, which stores those values: f32 or f64.
DType arithmetic_of(const Graph& graph, const std::vector<int>& nodes, const std::vector<Value>& stored);
// A reduction over all axes; its result exists after the whole domain was read.
bool is_total(const Graph& graph, const Node& node);

// How the nodes of a group spread over segments.
struct GroupLayout {
  struct Part {
    Shape domain;
    std::vector<bool> reduced;
    std::vector<int> nodes;
  };
  std::vector<Part> parts;
  std::vector<int> post;
};
// How many nodes compute, and how many of all are totals.
struct GroupSize {
  int64_t computing = 0, totals = 0;
  void add(const GroupSize& other) { computing += other.computing, totals += other.totals; }
  bool fits() const;  // into one kernel, whatever the nodes are
};
GroupSize size_of_group(const Graph& graph, const std::vector<int>& nodes);
// Nothing when these nodes cannot be one kernel. A kernel can repeat a slice as it reads it, but then not store it:
// `repeats_slices` is for groups of which nobody else reads such a slice.
std::optional<GroupLayout> layout_of_group(const Graph& graph, const std::vector<Role>& roles,
                                           const std::vector<int>& nodes, bool repeats_slices = true);
// Whether a slice is all that a node is, in a fused kernel: a way to read.
bool is_fused_slice(const Graph& graph, const Node& node);

// Several groups may hold a node; each of them then makes the node's value for itself.
struct Groups {
  std::vector<std::vector<int>> nodes;
  std::vector<int> home;  // by node: the group that stores its value for others; -1 for a node in no group
};
struct Grouping {
  bool fuse = true;      // false: each node by itself
  bool columns = false;  // groups that read columns of one array, or make them, are one where they can be
};
// All fusible nodes in groups; each group can be one kernel, and the groups' order has no cycle.
// `taken` marks nodes that another kernel took along; `next` are the graph's successors, and those of such kernels.
Groups group_nodes(const Graph& graph, const std::vector<Role>& roles, const std::vector<bool>& taken,
                   const std::vector<std::vector<int>>& next, const Grouping& how);
// Sets of nodes to be joined before others: what is made element by element of one large array and of its reductions.
std::vector<std::set<int>> passes_over_large_arrays(const Graph& graph, const std::vector<Role>& roles,
                                                    const std::vector<bool>& fusible,
                                                    const std::vector<std::vector<int>>& next);
// Whether computing its value again takes less time than reading it: also of casts from one floating type to another.
bool is_cheap(const Graph& graph, const Node& node);
// With cheap nodes copied into the groups that read what they make, where nobody else does and none of these groups
// writes a variable.
Groups with_remade(const Graph& graph, const std::vector<Role>& roles, Groups groups);

// With a group more: the nodes that make operand 0 of node `reader`, which has a kernel of its own, leave the group
// that folds the array they read. The new group's kernel may become the prologue of the reader and of all others that
// read the operand so. `computes` marks the nodes whose kernels compute operand 0 as they read it. Only where no other
// node reads the operand, and where it follows element by element from one array that is no larger and from folded
// numbers.
Groups with_operand_apart(const Graph& graph, const std::vector<Role>& roles, Groups groups, int reader,
                          const std::vector<bool>& computes);

// The code of a group; `stored` marks values that it stores for others.
FusedKernel fused_code(const Graph& graph, const std::vector<Role>& roles, const std::vector<int>& nodes,
                       const std::vector<bool>& stored);

// For each node, the nodes that must run after it: readers of its results, and for an assignment everything
// that must not run before the old value was read.
std::vector<std::vector<int>> successors(const Graph& graph);

// From each node to the nodes that take its results, in order.
using Edges = std::vector<std::vector<int>>;
Edges data_edges(const Graph& graph);

// The nodes that read a variable's memory, each after the node by which the variable gets to it: itself, or the
// first of a chain of views. `data` are the graph's.
std::vector<std::pair<int, int>> readers(const Graph& graph, const Edges& data, Value variable);
// By value: the variable whose memory a kernel of its own may write in place of the value; otherwise an invalid Value.
// The kernel may do so if one assignment without guard is the value's only use, and nothing reads the variable.
std::vector<Value> direct_targets(const Graph& graph);
// The value whose memory a chain of views shows; the value itself when it is no view.
Value viewed(const Graph& graph, Value value);
// (1,1,C) and (C), for example.
bool same_but_leading_ones(const Shape& a, const Shape& b);

}  // namespace neon
