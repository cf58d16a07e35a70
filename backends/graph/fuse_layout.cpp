// Which nodes can share a kernel, by shape: all values of a segment are its whole domain, its kept axes, or
// one number.
#include <algorithm>
#include <map>
#include <numeric>

#include "backends/graph/fuse.h"
#include "backends/graph/ops.h"

namespace neon {

namespace {

// Limits on the nodes that compute: a slice is only a way to read, a cast to 16 bits only a way to write. A kernel may
// have more nodes if each of many arrays becomes one number, as gradients do in the finite check. It does little beside
// reading the arrays.
constexpr int64_t kMostNodes = 96, kMostNodesOfTotals = 4 * kMostNodes;
constexpr int64_t kMostTotals = 128;
constexpr size_t kMostNodesOfPart = 8;  // of such a kernel

bool all_ones(const Shape& shape) { return shape.elements() == 1; }

bool is_gather(const Node& node) { return node.op->traits.fusion == Fusion::rows; }

// Reduced axes beside each other (sizes of 1 aside): what the devices' loops run over.
bool is_simple_reduction(const Shape& shape, const std::vector<int64_t>& axes) {
  std::string pattern;  // r and k, runs merged
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == 1) continue;
    const char letter = std::ranges::count(axes, axis) ? 'r' : 'k';
    if (pattern.empty() || pattern.back() != letter) pattern += letter;
  }
  return pattern.size() <= 2 || pattern == "krk";
}

Shape padded(const Shape& shape, int rank) {
  std::vector<int64_t> sizes(static_cast<size_t>(rank - shape.rank()), 1);
  sizes.insert(sizes.end(), shape.begin(), shape.end());
  return Shape(sizes);
}

// The shape that a node's loop runs over.
const Shape& domain_of(const Graph& graph, const Node& node) {
  return is_reduction(*node.op) ? graph.shape(node.inputs[0]) : graph.shape(node.outputs[0]);
}

class Components {
 public:
  explicit Components(size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0); }
  int find(int x) {
    int& parent = parent_[size_t(x)];
    return parent == x ? x : parent = find(parent);
  }
  void join(int a, int b) { parent_[size_t(find(a))] = find(b); }

 private:
  std::vector<int> parent_;
};

// Whether a loop over `domain` has each number of `own` for all indices along the axes where `own` has one.
bool repeats(const Shape& own, const Shape& domain) {
  for (int axis = 0; axis < own.rank(); ++axis)
    if (own[axis] != domain[axis] && own[axis] != 1) return false;
  return true;
}

// Fills domain and reduced axes of a part; false when its nodes do not fit together.
bool fit(const Graph& graph, GroupLayout::Part& part, bool repeats_slices) {
  int rank = 0;
  for (int n : part.nodes) {
    rank = std::max(rank, domain_of(graph, graph.node(n)).rank());
    for (Value input : graph.node(n).inputs) rank = std::max(rank, graph.shape(input).rank());
  }
  part.domain = padded({}, rank);
  for (int n : part.nodes) {
    const Shape own = padded(domain_of(graph, graph.node(n)), rank);
    if (own.elements() > part.domain.elements()) part.domain = own;
  }
  part.reduced.assign(size_t(rank), false);
  bool reduces = false;
  for (int n : part.nodes) {
    const Node& node = graph.node(n);
    if (!is_reduction(*node.op) || is_total(graph, node)) continue;
    std::vector<bool> mask(size_t(rank), false);
    const int offset = rank - graph.shape(node.inputs[0]).rank();
    for (int64_t axis : node.attributes.integers("axes")) mask[size_t(axis + offset)] = true;
    if (padded(graph.shape(node.inputs[0]), rank) != part.domain || (reduces && mask != part.reduced)) return false;
    part.reduced = mask;
    reduces = true;
  }
  Shape kept = part.domain;
  for (int axis = 0; axis < rank; ++axis)
    if (part.reduced[size_t(axis)]) kept = kept.with(axis, 1);
  for (int n : part.nodes) {
    const Node& node = graph.node(n);
    if (is_reduction(*node.op) && !is_total(graph, node)) continue;
    const Shape own = padded(domain_of(graph, node), rank);
    const bool repeated = repeats_slices && is_fused_slice(graph, node) && repeats(own, part.domain);
    if (own != part.domain && own != kept && !all_ones(own) && !repeated) return false;
    if (!is_gather(node)) continue;
    // Rows are looked up along axis 0, which must be the domain's, not one of the reduced, and not among the columns,
    // where kept numbers lie if axis 0 has size 1.
    const bool whole = own == part.domain;
    if (graph.shape(node.outputs[0]).rank() != rank || part.reduced[0] || (!whole && own != kept)) return false;
    if (!whole && part.domain[0] == 1) return false;
  }
  return true;
}

}  // namespace

bool same_but_leading_ones(const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  return padded(a, rank) == padded(b, rank);
}

bool is_view(const Graph& graph, int n) {
  const Node& node = graph.node(n);
  if (node.op->traits.fusion != Fusion::view) return false;
  const int maker = graph.producer_index(node.inputs[0]);
  const Op& op = *graph.node(maker).op;
  const bool computed = op.traits.fusion == Fusion::elements || is_reduction(op) ||
                        (op.traits.fusion == Fusion::view && !is_view(graph, maker));
  return !computed || !all_ones(graph.shape(node.outputs[0]));
}

bool is_reduction(const Op& op) { return op.traits.fusion == Fusion::reduction; }

// Integers of 64 bits would not pass through the arithmetic of a fused kernel.
bool is_fused_slice(const Graph& graph, const Node& node) {
  return node.op->traits.fusion == Fusion::slice && is_floating(graph.dtype(node.outputs[0]));
}

bool reads_array(const Graph& graph, const Node& node) { return is_gather(node) || is_fused_slice(graph, node); }

bool is_converting_load(const Graph& graph, const std::vector<Role>& roles, int n) {
  const Node& node = graph.node(n);
  return roles[size_t(n)] == Role::source && node.op->is(ops::cast) &&
         graph.producer(node.inputs[0]).op->is_given_array();
}

bool is_total(const Graph& graph, const Node& node) {
  return is_reduction(*node.op) && node.op->traits.reduction != Reduction::argmax &&
         node.attributes.integers("axes").size() == size_t(graph.shape(node.inputs[0]).rank());
}

namespace {

// The casts that widen an array where it is read. Only rows of the elementwise table read the array, and one of them
// repeats it, so that the cast is in the way of their loop. The array is no variable that is written, because its
// readers must come before the write.
std::vector<bool> widened_where_read(const Graph& graph) {
  std::vector<bool> kept(size_t(graph.value_count()), false), wider(kept), written(kept);
  std::vector<bool> out(size_t(graph.node_count()), false);
  for (const auto& [name, value] : graph.outputs()) kept[size_t(value.id)] = true;
  for (const Assignment& a : graph.assignments()) {
    kept[size_t(a.value.id)] = written[size_t(a.variable.id)] = true;
    if (a.guard) kept[size_t(a.guard.id)] = true;
  }
  for (int n = 0; n < graph.node_count(); ++n) {
    const Node& node = graph.node(n);
    for (Value input : node.inputs) {
      const bool repeats = graph.shape(node.outputs[0]).elements() > graph.shape(input).elements();
      if (!node.op->is_elementwise()) kept[size_t(input.id)] = true;
      else if (repeats) wider[size_t(input.id)] = true;
    }
  }
  for (int n = 0; n < graph.node_count(); ++n) {
    const Node& node = graph.node(n);
    if (!node.op->is(ops::cast) || node.attributes.has("copy") || node.attributes.has(kKept)) continue;
    const Value from = node.inputs[0], to = node.outputs[0];
    const bool is_leaf = graph.producer(from).op->is_given_array() && !written[size_t(from.id)];
    const DType narrow = graph.dtype(from), wide = graph.dtype(to);
    const bool widens =
        is_floating(wide) && narrow != DType::i64 && (!is_floating(narrow) || size_of(narrow) < size_of(wide));
    out[size_t(n)] = is_leaf && widens && wider[size_t(to.id)] && !kept[size_t(to.id)];
  }
  return out;
}

// A value that follows from the step record, constants and places alone is made where it is used. But a cast to the
// same type is a copy for readers that need the value in memory. `roles` are those of the nodes before it.
bool is_made_where_used(const Graph& graph, const Node& node, const std::vector<Role>& roles,
                        const std::vector<bool>& widened) {
  const bool copy = node.op->is(ops::cast) && graph.dtype(node.inputs[0]) == graph.dtype(node.outputs[0]);
  if (copy || node.op->traits.fusion != Fusion::elements || rounds(graph, node)) return false;
  return std::ranges::all_of(node.inputs, [&](Value input) {
    const size_t p = size_t(graph.producer_index(input));
    const Op& maker = *graph.node(int(p)).op;
    return maker.is_number() || (roles[p] == Role::source && !maker.traits.draws && !widened[p]);
  });
}

Role role_of_reduction(const Graph& graph, const Node& node) {
  const auto& axes = node.attributes.integers("axes");
  const bool simple = is_simple_reduction(graph.shape(node.inputs[0]), axes);
  return simple && !(axes.empty() && !is_total(graph, node)) ? Role::fusible : Role::opaque;
}

}  // namespace

std::vector<Role> roles(const Graph& graph) {
  const std::vector<bool> widened = widened_where_read(graph);
  std::vector<Role> out;
  for (int i = 0; i < graph.node_count(); ++i) {
    const Node& node = graph.node(i);
    const Fusion fusion = node.op->traits.fusion;
    Role role = Role::opaque;
    if (fusion == Fusion::leaf) {
      role = Role::leaf;
    } else if (is_view(graph, i)) {
      role = Role::view;
    } else if (domain_of(graph, node).elements() == 0) {
      role = Role::opaque;
    } else if (fusion == Fusion::source) {
      role = Role::source;
    } else if (node.attributes.has("copy")) {
      role = Role::fusible;
    } else if (fusion == Fusion::elements || fusion == Fusion::view) {
      role = widened[size_t(i)] || is_made_where_used(graph, node, out, widened) ? Role::source : Role::fusible;
    } else if (fusion == Fusion::reduction) {
      role = role_of_reduction(graph, node);
    } else if (reads_array(graph, node)) {
      role = Role::fusible;
    }
    out.push_back(role);
  }
  return out;
}

bool GroupSize::fits() const {
  return computing <= (totals ? kMostNodesOfTotals : kMostNodes) && totals <= kMostTotals;
}

GroupSize size_of_group(const Graph& graph, const std::vector<int>& nodes) {
  GroupSize out;
  for (int n : nodes) {
    const Node& node = graph.node(n);
    const bool narrows = node.op->is(ops::cast) && size_of(graph.dtype(node.outputs[0])) == 2;
    out.computing += !narrows && !is_fused_slice(graph, node);
    out.totals += is_total(graph, node);
  }
  return out;
}

std::optional<GroupLayout> layout_of_group(const Graph& graph, const std::vector<Role>& roles,
                                           const std::vector<int>& nodes, bool repeats_slices) {
  const GroupSize size = size_of_group(graph, nodes);
  if (!size.fits() || !has_one_arithmetic(graph, roles, nodes)) return {};
  // The place of a value's maker among the nodes, -1 if the maker is not among them.
  const auto place = [&](Value value) {
    const int maker = graph.producer_index(value);
    const auto found = std::ranges::lower_bound(nodes, maker);
    return found != nodes.end() && *found == maker ? int(found - nodes.begin()) : -1;
  };
  std::vector<bool> post(nodes.size(), false);
  Components components(nodes.size());
  for (int i = 0; i < int(nodes.size()); ++i) {
    const int n = nodes[size_t(i)];
    NEON_ASSERT(roles[size_t(n)] == Role::fusible);
    const Node& node = graph.node(n);
    const bool total = is_total(graph, node);
    bool after = total;
    std::vector<int> makers;
    for (Value input : node.inputs)
      if (const int maker = place(input); maker >= 0) makers.push_back(maker);
    for (int maker : makers) {
      if (reads_array(graph, node) || rounds(graph, graph.node(nodes[size_t(maker)]))) return {};
      const bool late = post[size_t(maker)];
      if (late && (is_reduction(*node.op) || !all_ones(graph.shape(node.outputs[0])))) return {};
      after = after || late;
    }
    post[size_t(i)] = after;
    for (int maker : makers) {
      if (post[size_t(maker)]) continue;
      // A late scalar may also read early results of this kernel only through memory, which is not there yet.
      if (after && !total) return {};
      components.join(i, maker);
    }
  }
  std::map<int, GroupLayout::Part> parts;
  GroupLayout out;
  for (int i = 0; i < int(nodes.size()); ++i) {
    const int n = nodes[size_t(i)];
    if (post[size_t(i)]) out.post.push_back(n);
    if (!post[size_t(i)] || is_total(graph, graph.node(n))) parts[components.find(i)].nodes.push_back(n);
  }
  const bool small = std::ranges::all_of(parts, [&](const auto& part) {
    const std::vector<int>& of_part = part.second.nodes;
    return of_part.size() <= kMostNodesOfPart &&
           std::ranges::any_of(of_part, [&](int n) { return is_total(graph, graph.node(n)); });
  });
  if (size.computing > kMostNodes && !small) return {};
  for (auto& [root, part] : parts) {
    if (!fit(graph, part, repeats_slices)) return {};
    out.parts.push_back(std::move(part));
  }
  return out;
}

}  // namespace neon
