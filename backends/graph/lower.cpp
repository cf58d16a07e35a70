#include "backends/graph/lower.h"

#include <algorithm>
#include <queue>
#include <set>

#include "backends/graph/expression.h"
#include "backends/graph/fuse.h"
#include "backends/graph/join.h"
#include "backends/graph/passes.h"
#include "backends/graph/plan.h"

namespace neon {

namespace {

class Lowerer {
 public:
  Lowerer(Graph graph, const LowerOptions& options) : options_(options) {
    lowered_.graph = std::move(graph);
    roles_ = roles(lowered_.graph);
    next_ = successors(lowered_.graph);
    const int nodes = lowered_.graph.node_count();
    taken_.assign(size_t(nodes), false);
    kernels_of_.resize(size_t(nodes));
    home_.assign(size_t(nodes), -1);
    uses_.resize(size_t(lowered_.graph.value_count()));
    for (int i = 0; i < nodes; ++i)
      for (Value input : lowered_.graph.node(i).inputs) uses_[size_t(input.id)].push_back(i);
    for (const auto& [name, value] : lowered_.graph.outputs()) uses_[size_t(value.id)].push_back(nodes);
    assigned_.assign(size_t(nodes), false);
    for (const Assignment& a : lowered_.graph.assignments()) {
      assigned_[size_t(lowered_.graph.producer_index(a.value))] = true;
      uses_[size_t(a.value.id)].push_back(nodes);
      if (a.guard) uses_[size_t(a.guard.id)].push_back(nodes);
    }
  }

  Lowered run() {
    make_opaque_kernels();
    Groups groups = group_nodes(lowered_.graph, roles_, taken_, next_, options_.fuse);
    if (options_.remake) groups = with_remade(lowered_.graph, roles_, std::move(groups));
    const std::vector<bool> needed = values_needed(groups);
    for (size_t g = 0; g < groups.nodes.size(); ++g)
      if (!groups.nodes[g].empty()) make_fused_kernel(groups, int(g), needed);
    order();
    lowered_.placements.resize(size_t(graph().value_count()));
    if (options_.join) join_concatenations(lowered_, options_.writers);
    plan_memory(lowered_);
    return std::move(lowered_);
  }

 private:
  const Graph& graph() const { return lowered_.graph; }

  int only_use(Value value) const {
    const auto& uses = uses_[size_t(value.id)];
    return uses.size() == 1 && uses[0] < graph().node_count() ? uses[0] : -1;
  }

  // The bias that node `n` adds to `product`, if that is all it does.
  Value bias_added(int n, Value product) const {
    const Node& node = graph().node(n);
    if (node.op->name != "add") return {};
    const Value other = node.inputs[node.inputs[0] == product ? 1 : 0];
    const Shape& shape = graph().shape(other);
    const int64_t columns = graph().shape(product).back();
    const bool row = shape.elements() == columns && shape.rank() >= 1 && shape.back() == columns;
    // A parameter, as stored or in the type of the arithmetic: there before any product is made.
    const Node* from = &graph().producer(other);
    if (from->op->name == "cast") from = &graph().producer(from->inputs[0]);
    const bool same = shape.elements() > 0 && graph().shape(node.outputs[0]) == graph().shape(product);
    return same && row && columns > 1 && from->op->name == "variable" ? other : Value{};
  }

  void make_opaque_kernels() {
    for (int i = 0; i < graph().node_count(); ++i) {
      if (roles_[size_t(i)] != Role::opaque) continue;
      const Node& node = graph().node(i);
      LoweredKernel kernel;
      kernel.op = node.op->name;
      kernel.inputs = node.inputs;
      kernel.outputs = node.outputs;
      kernel.attributes = node.attributes;
      kernel.scope = node.scope;
      members_.emplace_back();
      add_member(i, true);
      if (options_.fuse && has_epilogue(kernel.op)) take_epilogue(kernel, i);
      if (kernel.outputs.size() == 1)
        if (const Value target = direct_target(graph(), kernel.outputs[0])) kernel.outputs = {target};
      if (options_.fuse && !kernel.derivative && is_own_product(i)) take_sums(kernel, i);
      if (options_.pooled_bytes > 0 && kernel.op == "pool_max_gradient") take_gate(kernel, i);
      lowered_.kernels.push_back(std::move(kernel));
    }
  }

  // Of the last kernel; one that others read it from is its home.
  void add_member(int n, bool at_home) {
    const int kernel = int(members_.size()) - 1;
    members_.back().push_back(n);
    kernels_of_[size_t(n)].push_back(kernel);
    if (at_home) home_[size_t(n)] = kernel;
  }

  static bool has_epilogue(const std::string& op) { return op == "matmul" || op == "convolution" || op == "pool_max"; }

  void take_epilogue(LoweredKernel& kernel, int maker) {
    auto take = [&](int n) {
      taken_[size_t(n)] = true;
      add_member(n, true);
      kernel.outputs[0] = graph().node(n).outputs[0];
    };
    for (Value input : kernel.inputs)
      if (graph().shape(input).elements() == 0) return;
    // What is assigned must be written by whoever may write the variable.
    auto may_take = [&](int n) {
      return n >= 0 && (!assigned_[size_t(n)] || direct_target(graph(), graph().node(n).outputs[0])) &&
             !joins_better_alone(n, kernel);
    };
    int n = only_use(kernel.outputs[0]);
    if (may_take(n) && kernel.op != "pool_max")
      if (const Value bias = bias_added(n, kernel.outputs[0])) {
        kernel.bias = bias;
        kernel.inputs.push_back(bias);
        take(n);
        n = only_use(kernel.outputs[0]);
      }
    if (may_take(n) && graph().node(n).op->name == "relu" && !leaves_relu(kernel)) {
      kernel.relu = true;
      take(n);
    } else if (n >= 0 && !kernel.bias && is_own_product(maker) && ends_product(n, maker)) {
      kernel.derivative = graph().node(n).op;
      kernel.gate = graph().node(n).inputs[1];
      kernel.inputs.push_back(kernel.gate);
      make_one({maker, n});
      take(n);
    }
  }

  bool leaves_relu(const LoweredKernel& kernel) const {
    return options_.relus_apart && kernel.op == "convolution" && graph().dtype(kernel.outputs[0]) == DType::f32 &&
           !is_pointwise(kernel, graph());
  }

  // Whether node `n` is a product that the device makes by a kernel of its own, which may take more along.
  bool is_own_product(int n) const {
    const Node& node = graph().node(n);
    if (node.op->name != "matmul") return false;
    const int64_t work = graph().shape(node.inputs[0])[node.attributes.integer("transpose_a") ? 0 : 1] *
                         graph().shape(node.outputs[0]).elements();
    return work > 0 && work <= options_.own_products;
  }

  // Whether node `n`, which alone reads the product of node `maker`, is a derivative to end it with: its other operand
  // is an array like it, and none of those that read what it makes would have been one kernel with it.
  bool ends_product(int n, int maker) const {
    const Node& node = graph().node(n);
    return is_gate(n) && node.inputs[0] == graph().node(maker).outputs[0] && may_be_one({maker, n}) &&
           std::ranges::all_of(uses_[size_t(node.outputs[0].id)], [&](int user) {
             return user < graph().node_count() && (roles_[size_t(user)] == Role::opaque || summing_product(user) >= 0);
           });
  }

  // The product aᵀ · b that can sum a (M,N) over its rows in place of node `sum`; -1 where there is none.
  int summing_product(int sum) const {
    const Node& node = graph().node(sum);
    if (node.op->name != "sum" || assigned_[size_t(sum)] || graph().shape(node.inputs[0]).rank() != 2 ||
        node.attributes.integers("axes") != std::vector<int64_t>{0})
      return -1;
    for (int user : uses_[size_t(node.inputs[0].id)])
      if (user < graph().node_count() && is_own_product(user) && graph().node(user).inputs[0] == node.inputs[0] &&
          graph().node(user).attributes.integer("transpose_a"))
        return user;
    return -1;
  }

  // A bias's gradient goes with that of the weights: both add up over the samples.
  void take_sums(LoweredKernel& kernel, int product) {
    for (int n : uses_[size_t(kernel.inputs[0].id)]) {
      if (n == graph().node_count() || kernel.outputs.size() > 1 || summing_product(n) != product ||
          !may_be_one({product, n}))
        continue;
      make_one({product, n});
      taken_[size_t(n)] = true;
      add_member(n, true);
      kernel.outputs.push_back(graph().node(n).outputs[0]);
    }
  }

  // The gradient of max pooling takes the derivative of an activation after it along, and the sums over the pixels of
  // what it spreads. Only where the derivative would have been a kernel without others, and not what a concatenation
  // reads, too: its parts are read where they lie by fused kernels alone.
  void take_gate(LoweredKernel& kernel, int pooling) {
    const int d = graph().producer_index(kernel.inputs[0]);
    const Value given = kernel.inputs[0];
    if (graph().type(given).bytes() < size_t(options_.pooled_bytes) || taken_[size_t(d)] || !is_gate(d) ||
        roles_[size_t(graph().producer_index(graph().node(d).inputs[0]))] == Role::fusible)
      return;
    std::vector<int> nodes = {d, pooling};
    for (int user : uses_[size_t(given.id)])
      if (user != pooling) nodes.push_back(user);
    const bool by_channel =
        kernel.attributes.integers("window").back() == 1 && kernel.attributes.integers("strides").back() == 1;
    if (nodes.size() > 3 || (nodes.size() == 3 && (!by_channel || !sums_pixels(nodes[2]))) || !may_be_one(nodes) ||
        is_joined(graph().node(d).inputs[1]))
      return;
    kernel.derivative = graph().node(d).op;
    kernel.inputs[0] = graph().node(d).inputs[0];
    kernel.gate = graph().node(d).inputs[1];
    kernel.inputs.push_back(kernel.gate);
    if (nodes.size() == 3) kernel.outputs.push_back(graph().node(nodes[2]).outputs[0]);
    make_one(nodes);
    for (int n : nodes) {
      if (n == pooling) continue;
      taken_[size_t(n)] = true;
      add_member(n, true);
    }
  }

  bool is_joined(Value value) const {
    return std::ranges::any_of(uses_[size_t(value.id)], [&](int user) {
      return user < graph().node_count() && graph().node(user).op->name == "concat";
    });
  }

  // Whether node `n` is a derivative of its first operand's type, and of an array like it.
  bool is_gate(int n) const {
    const Node& node = graph().node(n);
    if (!node.op->row || node.op->derivative_operand < 0 || node.inputs.size() != 2 || assigned_[size_t(n)])
      return false;
    const Role role = roles_[size_t(graph().producer_index(node.inputs[1]))];
    const TensorType& type = graph().type(node.inputs[0]);
    return (role == Role::fusible || role == Role::opaque) && graph().type(node.inputs[1]) == type &&
           graph().type(node.outputs[0]) == type;
  }

  // Whether node `n` sums over all axes but the last.
  bool sums_pixels(int n) const {
    if (n == graph().node_count() || graph().node(n).op->name != "sum" || assigned_[size_t(n)]) return false;
    const auto& axes = graph().node(n).attributes.integers("axes");
    const int last = graph().shape(graph().node(n).inputs[0]).rank() - 1;
    bool all = int(axes.size()) == last;
    for (int axis = 0; axis < last; ++axis) all = all && std::ranges::count(axes, axis) == 1;
    return all;
  }

  // Whether no path between these nodes leads over another, so that one kernel can do them.
  bool may_be_one(const std::vector<int>& nodes) const {
    std::vector<bool> seen(next_.size(), false);
    std::vector<int> queue;
    auto follow_on = [&](int n) {
      for (int s : next_[size_t(n)])
        if (!seen[size_t(s)]) seen[size_t(s)] = true, queue.push_back(s);
    };
    for (int n : nodes) follow_on(n);
    std::erase_if(queue, [&](int n) { return std::ranges::count(nodes, n) > 0; });
    for (int n : nodes) seen[size_t(n)] = false;
    while (!queue.empty()) {
      const int n = queue.back();
      queue.pop_back();
      follow_on(n);
    }
    return std::ranges::none_of(nodes, [&](int n) { return seen[size_t(n)]; });
  }

  // What follows one of them follows all.
  void make_one(const std::vector<int>& nodes) {
    std::set<int> all;
    for (int n : nodes) all.insert(next_[size_t(n)].begin(), next_[size_t(n)].end());
    for (int n : nodes) all.erase(n);
    for (int n : nodes) next_[size_t(n)].assign(all.begin(), all.end());
  }

  // Whether a concatenation that the kernel cannot write into takes what node `n` makes: a fused kernel writes there,
  // and is no more work than a copy.
  bool joins_better_alone(int n, const LoweredKernel& kernel) const {
    if (!options_.join || kernel.op != "convolution") return false;
    for (int user : uses_[size_t(graph().node(n).outputs[0].id)]) {
      if (user == graph().node_count() || graph().node(user).op->name != "concat") continue;
      const Node& concat = graph().node(user);
      const int axis = int(concat.attributes.integer("axis"));
      return !is_writer(kernel, graph(), options_.writers, row_of_part(graph(), kernel.outputs[0], axis)) &&
             has_aligned_rows(graph(), concat.inputs, axis) &&
             std::ranges::all_of(concat.inputs, [&](Value part) { return may_lie_in_rows(part); });
    }
    return false;
  }

  // Whether only concatenations read a part of one, and what may be fused.
  bool may_lie_in_rows(Value part) const {
    const auto& uses = uses_[size_t(part.id)];
    return graph().producer(part).op->name != "variable" && std::ranges::all_of(uses, [&](int user) {
             return user < graph().node_count() &&
                    (roles_[size_t(user)] == Role::fusible || graph().node(user).op->name == "concat");
           });
  }

  // Values read by another kernel than the one that makes them, or by the caller.
  std::vector<bool> values_needed(const Groups& groups) const {
    std::vector<bool> needed(size_t(graph().value_count()), false);
    for (int i = 0; i < graph().node_count(); ++i)
      if (groups.home[size_t(i)] < 0)
        for (Value input : graph().node(i).inputs) needed[size_t(input.id)] = true;
    for (const auto& nodes : groups.nodes)
      for (int n : nodes)
        for (Value input : graph().node(n).inputs)
          if (!std::ranges::binary_search(nodes, graph().producer_index(input))) needed[size_t(input.id)] = true;
    for (const auto& [name, value] : graph().outputs()) needed[size_t(value.id)] = true;
    for (const Assignment& a : graph().assignments())
      if (a.guard) needed[size_t(a.guard.id)] = true;
    return needed;
  }

  void make_fused_kernel(const Groups& groups, int group, std::vector<bool> stored) {
    const std::vector<int>& nodes = groups.nodes[size_t(group)];
    for (int n : nodes)
      if (groups.home[size_t(n)] != group) stored[size_t(graph().node(n).outputs[0].id)] = false;
    LoweredKernel kernel;
    kernel.op = "fused";
    auto code = std::make_shared<FusedKernel>(fused_code(graph(), roles_, nodes, stored));
    std::set<Value> inputs, outputs;
    auto read = [&](const std::vector<Instruction>& body) {
      for (const Instruction& i : body) {
        if (i.value) inputs.insert(i.value);
        if (i.index) inputs.insert(i.index);
      }
    };
    for (const Segment& segment : code->segments) {
      read(segment.body);
      for (const Store& store : segment.stores) outputs.insert(store.value);
    }
    read(code->post);
    for (const Store& store : code->post_stores) outputs.insert(store.value);
    if (code->guard) inputs.insert(code->guard);
    kernel.inputs.assign(inputs.begin(), inputs.end());
    kernel.outputs.assign(outputs.begin(), outputs.end());
    kernel.fused = std::move(code);
    for (int n : nodes)
      if (kernel.scope.empty()) kernel.scope = graph().node(n).scope;
    members_.emplace_back();
    for (int n : nodes) add_member(n, groups.home[size_t(n)] == group);
    lowered_.kernels.push_back(std::move(kernel));
  }

  // Kernels in an order in which every one runs after what it needs; among those that could run, the one whose
  // nodes came first in the graph.
  void order() {
    std::vector<std::set<int>> after(members_.size());
    std::vector<int> waiting(members_.size(), 0);
    for (int n = 0; n < graph().node_count(); ++n) follow(n, n, after);
    for (const auto& set : after)
      for (int k : set) ++waiting[size_t(k)];
    std::priority_queue<std::pair<int, int>, std::vector<std::pair<int, int>>, std::greater<>> ready;
    auto offer = [&](int k) { ready.push({*std::ranges::max_element(members_[size_t(k)]), k}); };
    for (size_t k = 0; k < members_.size(); ++k)
      if (waiting[k] == 0) offer(int(k));
    std::vector<LoweredKernel> ordered;
    while (!ready.empty()) {
      const int k = ready.top().second;
      ready.pop();
      ordered.push_back(std::move(lowered_.kernels[size_t(k)]));
      for (int s : after[size_t(k)])
        if (--waiting[size_t(s)] == 0) offer(s);
    }
    NEON_ASSERT(ordered.size() == lowered_.kernels.size());
    lowered_.kernels = std::move(ordered);
    put_off_columns();
  }

  // Columns are many times as large as what they are made of, and could be made long before anyone reads them: each
  // just before its first reader; not those of variables, which may be written in between.
  void put_off_columns() {
    auto& kernels = lowered_.kernels;
    for (size_t k = kernels.size(); k-- > 0;) {
      if (kernels[k].op != "columns" || is_of_variable(kernels[k].inputs[0])) continue;
      size_t last = k;
      while (last + 1 < kernels.size() && !std::ranges::count(kernels[last + 1].inputs, kernels[k].outputs[0])) ++last;
      std::rotate(kernels.begin() + long(k), kernels.begin() + long(k) + 1, kernels.begin() + long(last) + 1);
    }
  }

  bool is_of_variable(Value value) const {
    while (is_view(graph(), graph().producer_index(value))) value = graph().producer(value).inputs[0];
    return graph().producer(value).op->name == "variable";
  }

  // Edges from the home of node `from` to kernels that follow node `at`, through views and sources.
  void follow(int from, int at, std::vector<std::set<int>>& after) const {
    const int home = home_[size_t(from)];
    if (home < 0) return;
    const auto& own = kernels_of_[size_t(from)];
    for (int s : next_[size_t(at)]) {
      if (kernels_of_[size_t(s)].empty()) follow(from, s, after);
      for (int k : kernels_of_[size_t(s)]) {
        const bool makes_it = at == from && std::ranges::count(own, k) > 0;
        if (k != home && !makes_it) after[size_t(home)].insert(k);
      }
    }
  }

  LowerOptions options_;
  Lowered lowered_;
  std::vector<Role> roles_;
  std::vector<bool> taken_, assigned_;        // by node: part of another kernel; writes a variable
  std::vector<std::vector<int>> next_;        // by node: those that must run after it, or after its kernel
  std::vector<std::vector<int>> uses_;        // by value: nodes; the number of nodes stands for the caller
  std::vector<std::vector<int>> members_;     // by kernel: its nodes
  std::vector<std::vector<int>> kernels_of_;  // by node
  std::vector<int> home_;                     // by node: the kernel that others have its value from
};

}  // namespace

bool is_pointwise(const LoweredKernel& kernel, const Graph& graph) {
  if (!kernel.op.starts_with("convolution") || kernel.attributes.integer("groups") != 1) return false;
  const Shape& w = graph.shape(kernel.op == "convolution_weight_gradient" ? kernel.outputs[0] : kernel.inputs[1]);
  auto all = [&](const char* name, int64_t number) {
    return std::ranges::all_of(kernel.attributes.integers(name), [&](int64_t given) { return given == number; });
  };
  return w.elements() == w[0] * w.back() && all("strides", 1) && all("padding", 0);
}

Lowered lower(const Graph& graph, const LowerOptions& options) {
  Graph simple = simplified(expand(graph, options.keep));
  if (options.siblings) simple = with_siblings_together(simple);
  if (options.deep_inputs) simple = with_deep_inputs(simple);
  if (options.product_gradients) simple = with_product_gradients(simple);
  return Lowerer(with_writers(simple), options).run();
}

std::string to_string(const Lowered& lowered) {
  const Graph& graph = lowered.graph;
  std::string out;
  auto typed = [&](Value value) {
    const Placement& placement = lowered.placements[size_t(value.id)];
    const std::string name =
        placement ? text("%", placement.whole.id, "[", placement.first, "..]") : text("%", value.id);
    return text(name, " ", graph.type(value));
  };
  for (size_t k = 0; k < lowered.kernels.size(); ++k) {
    const LoweredKernel& kernel = lowered.kernels[k];
    out += text(k < 10 ? " " : "", k, "  ", kernel.op);
    const bool sums = kernel.takes_sums();
    if (kernel.relu || kernel.bias || kernel.derivative || sums)
      out += text(" +", kernel.bias ? " bias" : "", kernel.relu ? " relu" : "",
                  kernel.derivative ? " " + kernel.derivative->name : "", sums ? " sums" : "");
    out += "  (";
    for (size_t i = 0; i < kernel.inputs.size(); ++i) out += text(i ? ", " : "", typed(kernel.inputs[i]));
    out += ") -> (";
    for (size_t i = 0; i < kernel.outputs.size(); ++i) out += text(i ? ", " : "", typed(kernel.outputs[i]));
    out += ")";
    if (!kernel.attributes.items().empty()) out += text("  ", kernel.attributes);
    if (!kernel.scope.empty()) out += text("  # ", kernel.scope);
    out += "\n";
    if (kernel.fused) out += text("      ", kernel.fused->to_string(graph), "\n");
  }
  std::string leaves;
  for (const char* op : {"input", "variable"})
    for (Value leaf : graph.leaves(op))
      leaves += text("  ", typed(leaf), "  ", op, " ", graph.producer(leaf).attributes.string("name"), "\n");
  out += "leaves\n" + leaves;
  out += text("arena ", bytes_text(double(lowered.arena_bytes)), ", all values ",
              bytes_text(double(lowered.value_bytes)), "\n");
  return out;
}

}  // namespace neon
