// Branches of a net that begin with convolutions of one input x: their gradients by x are each as large as x, and were
// only made to be added up, and each reads x again for the gradient by its filters. Side by side, y = [y1 | y2] and
// w = [w1; w2], they are one of each: dx = the gradient by x of (y, w), and dw1 and dw2 are the rows of that by w.
//
// Products of matrices are the same: y1 w1 + y2 w2 = y w, and y1' x and y2' x are the rows of y' x. The queries, keys
// and values of attention are made so of one x. Parts of y that would have to be copied are no gain.
#include <algorithm>
#include <map>

#include "backends/graph/ops.h"
#include "backends/graph/passes.h"
#include "backends/graph/rewrite.h"

namespace neon {

namespace {

// Every y begins at a multiple of as many bytes, so that its kernel can write it beside the others.
constexpr int64_t kAlignedBytes = 16;
// Elements of x for one of w: filters may have to be copied together.
constexpr int64_t kLeastPixels = 4;

bool is_product(const Node& node, bool transposed_first) {
  return node.op->traits.product == ProductKind::matrices && !node.attributes.integer("transpose_b") &&
         bool(node.attributes.integer("transpose_a")) == transposed_first;
}
bool is_data_gradient(const Node& node) {
  return node.op->traits.convolution == ConvolutionKind::by_input || is_product(node, false);
}
bool is_weight_gradient(const Node& node) {
  return node.op->traits.convolution == ConvolutionKind::by_filters || is_product(node, true);
}
// The operands of a gradient by filters: a convolution's takes (x, y), a product (y, x).
size_t place_of_y(const Node& weights) { return weights.op->traits.product == ProductKind::matrices ? 0 : 1; }

struct Group {
  std::vector<int> data;     // nodes, gradients by x of (y, w)
  std::vector<int> weights;  // gradients by w of x and the same y, in the same order; or none
};

// The new form of the root of a chain of additions.
struct Sum {
  std::vector<Group> groups;
  std::vector<Value> others;  // summands that are in no group
};

class Rewriter {
 public:
  explicit Rewriter(const Graph& from)
      : from_(from),
        live_(live_nodes(from)),
        users_(size_t(from.value_count())),
        kept_(size_t(from.value_count()), false),
        group_of_(size_t(from.node_count()), nullptr),
        dropped_(size_t(from.node_count()), false),
        mapped_(size_t(from.value_count())) {
    for (int n = 0; n < from.node_count(); ++n)
      if (live_[size_t(n)])
        for (Value input : from.node(n).inputs) users_[size_t(input.id)].push_back(n);
    for (const auto& [name, value] : from.outputs()) kept_[size_t(value.id)] = true;
    for (const Assignment& a : from.assignments()) {
      kept_[size_t(a.value.id)] = true;
      if (a.guard) kept_[size_t(a.guard.id)] = true;
    }
  }

  Graph run() {
    to_.sequences = from_.sequences;
    for (int n = 0; n < from_.node_count(); ++n)
      if (live_[size_t(n)] && is_root(n)) find_groups(n);
    find_weight_gradients();
    // Parts of a gradient by filters are cut out for each who reads them.
    for (int n = 0; n < from_.node_count(); ++n)
      if (live_[size_t(n)] && !dropped_[size_t(n)] && !group_of_[size_t(n)]) build(n);
    for (const auto& [name, value] : from_.outputs()) to_.output(name, find(value));
    for (const Assignment& a : from_.assignments())
      to_.assign(find(a.variable), find(a.value), a.guard ? find(a.guard) : Value{});
    return std::move(to_);
  }

 private:
  // The only node that takes a value, -1 where there are others.
  int only_user(Value value) const {
    const auto& users = users_[size_t(value.id)];
    return users.size() == 1 && !kept_[size_t(value.id)] ? users[0] : -1;
  }
  bool is_addition(int n, const TensorType& type) const {
    const Node& node = from_.node(n);
    return node.op->is(ops::add) && from_.type(node.outputs[0]) == type &&
           std::ranges::all_of(node.inputs, [&](Value input) { return from_.type(input) == type; });
  }
  // An addition that no other one alone goes on with.
  bool is_root(int n) const {
    const Value sum = from_.node(n).outputs[0];
    if (!is_addition(n, from_.type(sum))) return false;
    const int user = only_user(sum);
    return user < 0 || !is_addition(user, from_.type(sum));
  }

  // The summands of a chain, and the additions below its root.
  void take_apart(int n, std::vector<Value>& summands, std::vector<int>& additions) const {
    for (Value input : from_.node(n).inputs) {
      const int maker = from_.producer_index(input);
      if (only_user(input) >= 0 && is_addition(maker, from_.type(input))) {
        additions.push_back(maker);
        take_apart(maker, summands, additions);
      } else {
        summands.push_back(input);
      }
    }
  }

  bool are_siblings(const Node& a, const Node& b) const {
    return a.op == b.op && a.attributes == b.attributes && a.inputs[0] != b.inputs[0] &&
           from_.shape(a.inputs[1]).with(0, 1) == from_.shape(b.inputs[1]).with(0, 1);
  }

  bool may_join(Value summand) const {
    const Node& node = from_.producer(summand);
    if (!is_data_gradient(node) || only_user(summand) < 0) return false;
    const bool product = node.op->traits.product == ProductKind::matrices;
    if (product ? !may_lie_in_rows(node.inputs[0]) : node.attributes.integer("groups") != 1) return false;
    const TensorType& y = from_.type(node.inputs[0]);
    return from_.shape(summand).elements() > 0 && y.shape.back() * int64_t(size_of(y.dtype)) % kAlignedBytes == 0 &&
           from_.shape(node.inputs[1]).elements() * kLeastPixels <= from_.shape(summand).elements();
  }

  // Whether the kernel that makes y can write rows of it apart, and all that read it can read them there, if the
  // gradients of the group are made together.
  bool may_lie_in_rows(Value y) const {
    const Node* maker = &from_.producer(y);
    while (maker->op->traits.fusion == Fusion::view) maker = &from_.producer(y = maker->inputs[0]);
    const bool writes = maker->op->traits.fusion == Fusion::elements ||
                        std::ranges::find(maker->outputs, y) - maker->outputs.begin() < maker->op->traits.writes_rows;
    Readers readers;
    count_readers(y, readers);
    return writes && !readers.others && readers.data == 1 && readers.weights <= 1;
  }
  // They read an array or a view of it: gradients by x, those by w, and kernels that want its rows together.
  struct Readers {
    int data = 0, weights = 0;
    bool others = false;
  };
  void count_readers(Value y, Readers& readers) const {
    readers.others = readers.others || kept_[size_t(y.id)];
    for (int n : users_[size_t(y.id)]) {
      const Node& user = from_.node(n);
      const Fusion fusion = user.op->traits.fusion;
      if (fusion == Fusion::view) count_readers(user.outputs[0], readers);
      else if (fusion == Fusion::elements || fusion == Fusion::reduction) continue;
      else if (is_product(user, false) && user.inputs[0] == y) ++readers.data;
      else if (is_product(user, true) && user.inputs[0] == y) ++readers.weights;
      else readers.others = true;
    }
  }

  void find_groups(int root) {
    Sum sum;
    std::vector<Value> summands;
    std::vector<int> additions;
    take_apart(root, summands, additions);
    for (Value summand : summands) {
      const int n = from_.producer_index(summand);
      if (!may_join(summand)) {
        sum.others.push_back(summand);
        continue;
      }
      const auto found = std::ranges::find_if(sum.groups, [&](const Group& group) {
        return std::ranges::all_of(group.data,
                                   [&](int other) { return are_siblings(from_.node(other), from_.node(n)); });
      });
      if (found == sum.groups.end()) sum.groups.push_back({{n}, {}});
      else found->data.push_back(n);
    }
    std::erase_if(sum.groups, [&](const Group& group) {
      if (group.data.size() == 1) sum.others.push_back(from_.node(group.data[0]).outputs[0]);
      return group.data.size() == 1;
    });
    if (sum.groups.empty()) return;
    for (Group& group : sum.groups) {
      std::ranges::sort(group.data);
      for (int n : group.data) dropped_[size_t(n)] = true;
    }
    for (int n : additions) dropped_[size_t(n)] = true;
    sums_[root] = std::move(sum);
  }

  // Those whose results lead to no y: one product of several that waits for all y must not be waited for by one.
  void find_weight_gradients() {
    std::vector<bool> leads(size_t(from_.node_count()), false);
    for (const auto& [root, sum] : sums_)
      for (const Group& group : sum.groups)
        for (int n : group.data) leads[size_t(from_.producer_index(from_.node(n).inputs[0]))] = true;
    for (int n = from_.node_count() - 1; n >= 0; --n)
      for (Value output : from_.node(n).outputs)
        for (int user : users_[size_t(output.id)]) leads[size_t(n)] = leads[size_t(n)] || leads[size_t(user)];
    for (auto& [root, sum] : sums_)
      for (Group& group : sum.groups) {
        std::vector<int> found;
        for (int n : group.data)
          for (int user : users_[size_t(from_.node(n).inputs[0].id)])
            if (is_weight_gradient(from_.node(user)) && !leads[size_t(user)] &&
                from_.node(user).inputs[place_of_y(from_.node(user))] == from_.node(n).inputs[0])
              found.push_back(user);
        const bool same = std::ranges::all_of(found, [&](int n) {
          const Node &a = from_.node(n), &b = from_.node(found[0]);
          const size_t x = 1 - place_of_y(a);
          return a.op == b.op && a.inputs[x] == b.inputs[x] && a.attributes == b.attributes;
        });
        if (!same || found.size() != group.data.size()) continue;
        group.weights = std::move(found);
        for (int n : group.weights) group_of_[size_t(n)] = &group;
      }
  }

  Value find(Value value) {
    if (!mapped_[size_t(value.id)]) build(from_.producer_index(value));
    return mapped_[size_t(value.id)];
  }

  void build(int n) {
    const Node& node = from_.node(n);
    if (mapped_[size_t(node.outputs[0].id)]) return;
    std::vector<Value> results;
    if (const auto sum = sums_.find(n); sum != sums_.end()) {
      results = {sum_of(sum->second, node.scope)};
    } else if (group_of_[size_t(n)]) {
      results = {rows_of(n, -1)};
    } else {
      std::vector<Value> inputs;
      for (Value input : node.inputs) {
        const int maker = from_.producer_index(input);
        inputs.push_back(group_of_[size_t(maker)] ? rows_of(maker, n) : find(input));
      }
      Scope scope(to_, node.scope);
      results = to_.add_all(node.op->name, std::move(inputs), node.attributes);
    }
    for (size_t k = 0; k < results.size(); ++k) mapped_[size_t(node.outputs[k].id)] = results[k];
  }

  // Inputs `operand` of a group's gradients by x.
  Value side_by_side(const Group& group, size_t operand, int64_t axis) {
    std::vector<Value> parts;
    for (int n : group.data) parts.push_back(find(from_.node(n).inputs[operand]));
    return to_.add(ops::concat, parts, {{"axis", axis}});
  }
  Value all_y(const Group& group) {
    return side_by_side(group, 0, from_.shape(from_.node(group.data[0]).inputs[0]).rank() - 1);
  }

  Value sum_of(const Sum& sum, const std::string& scope) {
    Value total;
    auto add = [&](Value summand) { total = total ? to_.add(ops::add, {total, summand}) : summand; };
    for (Value other : sum.others) {
      const Value summand = find(other);
      Scope here(to_, scope);
      add(summand);
    }
    for (const Group& group : sum.groups) {
      const Node& one = from_.node(group.data[0]);
      Scope here(to_, one.scope);
      add(to_.add(one.op->name, {all_y(group), side_by_side(group, 1, 0)}, one.attributes));
    }
    return total;
  }

  // Node n's result, for one reader: the reader's kernel reads a slice of its own, but another reader's slice from
  // memory.
  Value rows_of(int n, int reader) {
    const Group& group = *group_of_[size_t(n)];
    const Node& node = from_.node(n);
    int64_t first = 0;
    for (int other : group.weights) {
      if (other == n) break;
      first += from_.shape(from_.node(other).outputs[0])[0];
    }
    const size_t y = place_of_y(node);
    std::vector<Value> operands = {find(node.inputs[1 - y]), all_y(group)};
    if (y == 0) std::swap(operands[0], operands[1]);
    const Node& one = from_.node(group.weights[0]);
    Scope here(to_, one.scope);
    const Value all = to_.add(one.op->name, operands, one.attributes);
    const int64_t count = from_.shape(node.outputs[0])[0];
    return to_.add(ops::slice, {all},
                   {{"axis", int64_t(0)}, {"first", first}, {"count", count}, {"reader", int64_t(reader)}});
  }

  const Graph& from_;
  Graph to_;
  const std::vector<bool> live_;
  std::vector<std::vector<int>> users_;  // by value: nodes
  std::vector<bool> kept_;               // by value: for the caller
  std::map<int, Sum> sums_;              // by root
  std::vector<const Group*> group_of_;   // by node: of a gradient by filters
  std::vector<bool> dropped_;            // by node
  std::vector<Value> mapped_;
};

}  // namespace

Graph with_siblings_together(const Graph& graph) { return Rewriter(graph).run(); }

}  // namespace neon
