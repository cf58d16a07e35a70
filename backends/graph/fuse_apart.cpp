// Batch norm's kernel folds the columns of x, reads x again, and stores the normalised array, which max pooling or a
// depthwise convolution reads. These may compute the normalised numbers from x itself: then that array is neither
// written nor read.
#include <algorithm>
#include <set>

#include "backends/graph/fuse.h"

namespace neon {

namespace {

constexpr int64_t kOfColumn = 16;  // numbers of an array, and more, for one of its columns

class Apart {
 public:
  Apart(const Graph& graph, const std::vector<Role>& roles, Groups& groups, int reader,
        const std::vector<bool>& computes)
      : graph_(graph),
        roles_(roles),
        groups_(groups),
        computes_(computes),
        operand_(graph.node(reader).inputs[0]),
        maker_(graph.producer_index(operand_)),
        group_(groups.home[size_t(maker_)]),
        uses_(size_t(graph.value_count())) {
    for (int n = 0; n < graph.node_count(); ++n)
      for (Value input : graph.node(n).inputs) uses_[size_t(input.id)].push_back(n);
  }

  void apply() {
    if (group_ < 0 || is_read_by_others() || !collect(maker_)) return;
    const std::vector<int> made(nodes_.begin(), nodes_.end()), left = left_behind();
    const bool folds = std::ranges::any_of(left, [&](int n) { return is_reduction(*graph_.node(n).op); });
    if (!folds || arrays_.size() != 1 || bytes(*arrays_.begin()) > bytes(operand_) || !may_be_kernel(made) ||
        !may_be_kernel(left))
      return;
    for (int n : made)
      if (!std::ranges::binary_search(left, n)) groups_.home[size_t(n)] = int(groups_.nodes.size());
    groups_.nodes[size_t(group_)] = left;
    groups_.nodes.push_back(made);
  }

 private:
  size_t bytes(Value value) const { return graph_.type(value).bytes(); }
  bool is_here(int n) const { return std::ranges::binary_search(groups_.nodes[size_t(group_)], n); }
  bool is_large(Value value) const {
    return graph_.shape(value).elements() * kOfColumn > graph_.shape(operand_).elements();
  }
  bool may_be_kernel(const std::vector<int>& nodes) const {
    return layout_of_group(graph_, roles_, nodes) && has_one_arithmetic(graph_, roles_, nodes);
  }

  // Whether node `user` reads what node n makes from memory: in a kernel that does not make it for itself.
  bool reads(int user, int n) const {
    bool grouped = false;
    for (size_t g = 0; g < groups_.nodes.size(); ++g) {
      const auto& nodes = groups_.nodes[g];
      if (!std::ranges::binary_search(nodes, user)) continue;
      if (!std::ranges::binary_search(nodes, n)) return true;
      grouped = true;
    }
    return !grouped;
  }

  // Whether the operand is all that node `user` reads of this array, and is computed as it is read.
  bool computes_it(int user) const {
    const auto& inputs = graph_.node(user).inputs;
    return computes_[size_t(user)] && inputs[0] == operand_ && std::ranges::count(inputs, operand_) == 1;
  }

  bool is_read_by_others() const {
    const auto reads_it = [&](int user) { return !computes_it(user) && (is_here(user) || reads(user, maker_)); };
    if (std::ranges::any_of(uses_[size_t(operand_.id)], reads_it) || outlives_run(graph_, operand_)) return true;
    for (const auto& [name, output] : graph_.outputs())
      if (viewed(graph_, output) == operand_) return true;
    return std::ranges::any_of(graph_.assignments(), [&](const Assignment& a) {
      return viewed(graph_, a.value) == operand_ || a.guard == operand_;
    });
  }

  // The nodes that make node n's value element by element, and the large arrays that they read.
  bool collect(int n) {
    const Node& node = graph_.node(n);
    if (!is_cheap(graph_, node) || is_reduction(*node.op) || reads_array(graph_, node)) return false;
    nodes_.insert(n);
    for (Value input : node.inputs) {
      const int p = graph_.producer_index(input);
      if (graph_.node(p).op->is_number() || roles_[size_t(p)] == Role::source || nodes_.count(p)) continue;
      if (is_here(p) && is_large(input)) {
        if (!collect(p)) return false;
      } else if (is_large(input)) {
        if (outlives_run(graph_, viewed(graph_, input))) return false;
        arrays_.insert(viewed(graph_, input));
      }
    }
    return true;
  }

  // The group without the nodes that nobody but those of nodes_ needs.
  std::vector<int> left_behind() const {
    std::vector<int> left = groups_.nodes[size_t(group_)];
    for (auto n = nodes_.rbegin(); n != nodes_.rend(); ++n) {
      const auto& uses = uses_[size_t(graph_.node(*n).outputs[0].id)];
      const bool needed = std::ranges::any_of(uses, [&](int user) {
        return std::ranges::binary_search(left, user) || (!is_here(user) && reads(user, *n));
      });
      if (*n == maker_ || !needed) std::erase(left, *n);
    }
    return left;
  }

  const Graph& graph_;
  const std::vector<Role>& roles_;
  Groups& groups_;
  const std::vector<bool>& computes_;
  const Value operand_;
  const int maker_, group_;
  std::vector<std::vector<int>> uses_;  // by value: nodes
  std::set<int> nodes_;
  std::set<Value> arrays_;
};

}  // namespace

Groups with_operand_apart(const Graph& graph, const std::vector<Role>& roles, Groups groups, int reader,
                          const std::vector<bool>& computes) {
  Apart(graph, roles, groups, reader, computes).apply();
  return groups;
}

}  // namespace neon
