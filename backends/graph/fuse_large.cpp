// Nodes that one large array is read for. A softmax's cost and gradient both read the logits, which may be the largest
// array of a net; as one kernel they read it once.
#include <algorithm>

#include "backends/graph/fuse.h"

namespace neon {

namespace {

constexpr size_t kLargeBytes = size_t(16) << 20;  // of an array that caches do not hold

class LargePasses {
 public:
  LargePasses(const Graph& graph, const std::vector<Role>& roles, const std::vector<bool>& fusible)
      : graph_(graph), roles_(roles), fusible_(fusible), only_(fusible.size()) {
    find_only_arrays();
  }

  // The nodes that node n follows from, if n makes a large array of one other and its reductions; otherwise nothing.
  std::set<int> ending_in(int n, const std::vector<int>& readers) const {
    const auto makes_large_too = [&](int reader) { return fusible_[size_t(reader)] && makes_large(reader); };
    if (!only_[size_t(n)] || !makes_large(n) || std::ranges::any_of(readers, makes_large_too)) return {};
    std::set<int> nodes = {n};
    for (auto at = nodes.rbegin(); at != nodes.rend(); ++at)  // makers stand before their readers
      for (Value input : graph_.node(*at).inputs)
        if (const int maker = graph_.producer_index(input); only_[size_t(maker)] == only_[size_t(n)])
          nodes.insert(maker);
    const auto folds_rows = [&](int one) {
      return is_reduction(*graph_.node(one).op) && !is_total(graph_, graph_.node(one));
    };
    return std::ranges::any_of(nodes, folds_rows) ? nodes : std::set<int>{};
  }

 private:
  bool is_large(Value value) const { return graph_.type(value).bytes() >= kLargeBytes; }
  bool makes_large(int n) const { return !is_reduction(*graph_.node(n).op) && is_large(graph_.node(n).outputs[0]); }

  void find_only_arrays() {
    std::vector<bool> several(fusible_.size(), false);
    for (int n = 0; n < graph_.node_count(); ++n) {
      if (!fusible_[size_t(n)]) continue;
      Value& only = only_[size_t(n)];
      for (Value input : graph_.node(n).inputs) {
        const Value array = viewed(graph_, input);
        const size_t maker = size_t(graph_.producer_index(array));
        const bool made = roles_[maker] == Role::opaque && is_large(array);
        const Value from = fusible_[maker] ? only_[maker] : made ? array : Value{};
        several[size_t(n)] = several[size_t(n)] || several[maker] || (from && only && from != only);
        if (from) only = from;
      }
      if (several[size_t(n)]) only = {};
    }
  }

  const Graph& graph_;
  const std::vector<Role>& roles_;
  const std::vector<bool>& fusible_;
  // By node: the one large array that its value follows from by fusible nodes; nothing where there are several, or
  // none.
  std::vector<Value> only_;
};

}  // namespace

std::vector<std::set<int>> passes_over_large_arrays(const Graph& graph, const std::vector<Role>& roles,
                                                    const std::vector<bool>& fusible,
                                                    const std::vector<std::vector<int>>& next) {
  const LargePasses passes(graph, roles, fusible);
  std::vector<std::set<int>> out;
  for (int n = graph.node_count(); n-- > 0;)
    if (std::set<int> nodes = passes.ending_in(n, next[size_t(n)]); !nodes.empty()) out.push_back(std::move(nodes));
  return out;
}

}  // namespace neon
