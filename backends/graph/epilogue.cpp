#include "backends/graph/epilogue.h"

#include <algorithm>
#include <set>

#include "backends/graph/join.h"
#include "backends/graph/ops.h"

namespace neon {

namespace {

bool leaves_relu(const LoweredKernel& kernel, const Graph& graph, const LowerOptions& options) {
  return options.kernels.relus_apart && kernel.convolution() == ConvolutionKind::forward &&
         graph.dtype(kernel.outputs[0]) == DType::f32 && !is_pointwise(kernel, graph);
}

std::vector<int> with(std::vector<int> nodes, int n) {
  nodes.push_back(n);
  return nodes;
}

}  // namespace

Epilogues::Epilogues(const Graph& graph, const std::vector<Role>& roles, const LowerOptions& options)
    : graph_(graph), roles_(roles), options_(options), targets_(direct_targets(graph)), next_(successors(graph)) {
  const int nodes = graph.node_count();
  taken_.assign(size_t(nodes), false);
  assigned_.assign(size_t(nodes), false);
  uses_.resize(size_t(graph.value_count()));
  for (int i = 0; i < nodes; ++i)
    for (Value input : graph.node(i).inputs) uses_[size_t(input.id)].push_back(i);
  for (const auto& [name, value] : graph.outputs()) uses_[size_t(value.id)].push_back(nodes);
  for (const Assignment& a : graph.assignments()) {
    assigned_[size_t(graph.producer_index(a.value))] = true;
    uses_[size_t(a.value.id)].push_back(nodes);
    if (a.guard) uses_[size_t(a.guard.id)].push_back(nodes);
  }
}

std::vector<int> Epilogues::take(LoweredKernel& kernel, int maker) {
  beside_.clear();
  const bool fuses = options_.passes.has(LowerPass::fusion);
  if (fuses && (kernel.traits().takes_bias || kernel.traits().takes_relu)) take_epilogue(kernel, maker);
  if (kernel.outputs.size() == 1)
    if (const Value target = targets_[size_t(kernel.outputs[0].id)]) kernel.outputs = {target};
  if (fuses && !kernel.derivative() && is_own_product(maker)) take_sums(kernel, maker);
  if (options_.kernels.pooled_bytes > 0 && kernel.is(ops::pool_max_gradient)) take_gate(kernel, maker);
  return beside_;
}

void Epilogues::take_node(int n) {
  taken_[size_t(n)] = true;
  beside_.push_back(n);
}

int Epilogues::only_use(Value value) const {
  const auto& uses = uses_[size_t(value.id)];
  return uses.size() == 1 && uses[0] < graph_.node_count() ? uses[0] : -1;
}

// The bias that node `n` adds to `product`, if that is all it does.
Value Epilogues::bias_added(int n, Value product) const {
  const Node& node = graph_.node(n);
  if (!node.op->is(ops::add)) return {};
  const Value other = node.inputs[node.inputs[0] == product ? 1 : 0];
  const Shape& shape = graph_.shape(other);
  const int64_t columns = graph_.shape(product).back();
  const bool row = shape.elements() == columns && shape.rank() >= 1 && shape.back() == columns;
  // A parameter or what is kept of some, as stored or in the type of the arithmetic: there before any product is made.
  const Node& maker = graph_.producer(other);
  const bool there = outlives_run(graph_, other) || (maker.op->is(ops::cast) && outlives_run(graph_, maker.inputs[0]));
  const bool same = shape.elements() > 0 && graph_.shape(node.outputs[0]) == graph_.shape(product);
  return same && row && columns > 1 && there ? other : Value{};
}

// The array that node `n` adds to a kernel's result, if the device adds it there, and if no fused kernel would add it
// together with what follows. A sum that is itself added to another result is such an array later.
Value Epilogues::array_added(int n, const LoweredKernel& kernel, int maker) const {
  const Node& node = graph_.node(n);
  const Value result = kernel.outputs[0], sum = node.outputs[0];
  if (!node.op->is(ops::add) || !options_.kernels.adds_array || taken_[size_t(n)] || node.inputs[0] == node.inputs[1])
    return {};
  const Value other = node.inputs[node.inputs[0] == result ? 1 : 0];
  const int last = only_use(sum);
  const Value end = last >= 0 && graph_.node(last).op->is(ops::relu) ? graph_.node(last).outputs[0] : sum;
  const auto reads_array = [&](int user) {
    return user == graph_.node_count() || roles_[size_t(user)] == Role::opaque || graph_.node(user).op->is(ops::add);
  };
  const Role role = roles_[size_t(graph_.producer_index(other))];
  const bool fits = graph_.type(other) == graph_.type(result) && graph_.type(sum) == graph_.type(result);
  return fits && (role == Role::fusible || role == Role::opaque) && !is_joined(other) && !is_joined(end) &&
                 !assigned_[size_t(n)] && std::ranges::all_of(uses_[size_t(end.id)], reads_array) &&
                 may_be_one(with(with(beside_, maker), n)) &&
                 options_.kernels.adds_array(kernel, graph_, options_.kernels)
             ? other
             : Value{};
}

void Epilogues::take_epilogue(LoweredKernel& kernel, int maker) {
  auto take = [&](int n) {
    take_node(n);
    kernel.outputs[0] = graph_.node(n).outputs[0];
  };
  for (Value input : kernel.inputs)
    if (graph_.shape(input).elements() == 0) return;
  // An assigned value must be written by the kernel that may write the variable.
  auto may_take = [&](int n) {
    return n >= 0 && (!assigned_[size_t(n)] || targets_[size_t(graph_.node(n).outputs[0].id)]) &&
           !joins_better_alone(n, kernel);
  };
  int n = only_use(kernel.outputs[0]);
  if (may_take(n) && kernel.traits().takes_bias)
    if (const Value bias = bias_added(n, kernel.outputs[0])) {
      kernel.attachments.push_back({.kind = Attachment::Kind::bias, .value = bias});
      kernel.inputs.push_back(bias);
      take(n);
      n = only_use(kernel.outputs[0]);
    }
  if (may_take(n) && kernel.traits().takes_bias)
    if (const Value addend = array_added(n, kernel, maker)) {
      kernel.attachments.push_back({.kind = Attachment::Kind::addend, .value = addend});
      kernel.inputs.push_back(addend);
      take(n);
      n = only_use(kernel.outputs[0]);
    }
  if (!kernel.addend() && may_pool(kernel, n)) {
    take_pooling(kernel, n);
    n = only_use(kernel.outputs[0]);
  }
  if (may_take(n) && kernel.traits().takes_relu && graph_.node(n).op->is(ops::relu) &&
      !leaves_relu(kernel, graph_, options_)) {
    kernel.attachments.push_back({.kind = Attachment::Kind::relu});
    take(n);
  } else if (n >= 0 && !kernel.bias() && !kernel.addend() && is_own_product(maker) && ends_product(n, maker)) {
    take_derivative(kernel, graph_.node(n));
    make_one({maker, n});
    take(n);
  }
  // All of them come after the node that makes the array.
  if (kernel.addend()) make_one(with(beside_, maker));
}

// Whether node `n` is a product that the device makes by a kernel of its own, which may take more along.
bool Epilogues::is_own_product(int n) const {
  const Node& node = graph_.node(n);
  if (node.op->traits.product != ProductKind::matrices) return false;
  const int64_t work = graph_.shape(node.inputs[0])[node.attributes.integer("transpose_a") ? 0 : 1] *
                       graph_.shape(node.outputs[0]).elements();
  return work > 0 && work <= options_.kernels.own_products;
}

// Whether node `n`, which alone reads the product of node `maker`, is a derivative to end it with: its other operand
// is an array like it, and none of those that read what it makes would have been one kernel with it.
bool Epilogues::ends_product(int n, int maker) const {
  const Node& node = graph_.node(n);
  return is_gate(n) && node.inputs[0] == graph_.node(maker).outputs[0] && may_be_one({maker, n}) &&
         std::ranges::all_of(uses_[size_t(node.outputs[0].id)], [&](int user) {
           return user < graph_.node_count() && (roles_[size_t(user)] == Role::opaque || summing_product(user) >= 0);
         });
}

// The product aᵀ · b that can sum a (M,N) over its rows in place of node `sum`; -1 without one.
int Epilogues::summing_product(int sum) const {
  const Node& node = graph_.node(sum);
  if (node.op->traits.reduction != Reduction::sum || assigned_[size_t(sum)] ||
      graph_.shape(node.inputs[0]).rank() != 2 || node.attributes.integers("axes") != std::vector<int64_t>{0})
    return -1;
  for (int user : uses_[size_t(node.inputs[0].id)])
    if (user < graph_.node_count() && is_own_product(user) && graph_.node(user).inputs[0] == node.inputs[0] &&
        graph_.node(user).attributes.integer("transpose_a"))
      return user;
  return -1;
}

// A bias's gradient goes with that of the weights: both add up over the samples.
void Epilogues::take_sums(LoweredKernel& kernel, int product) {
  for (int n : uses_[size_t(kernel.inputs[0].id)]) {
    if (n == graph_.node_count() || kernel.outputs.size() > 1 || summing_product(n) != product) continue;
    const std::vector<int> together = with(with(beside_, product), n);
    if (!may_be_one(together)) continue;
    make_one(together);
    take_node(n);
    kernel.outputs.push_back(graph_.node(n).outputs[0]);
    kernel.attachments.push_back({.kind = Attachment::Kind::sums});
  }
}

void take_derivative(LoweredKernel& kernel, const Node& node) {
  const Value gate = node.inputs[1];
  kernel.attachments.push_back({.kind = Attachment::Kind::derivative, .value = gate, .op = node.op});
  kernel.inputs.push_back(gate);
}

bool Epilogues::is_joined(Value value) const {
  return std::ranges::any_of(uses_[size_t(value.id)], [&](int user) {
    return user < graph_.node_count() && graph_.node(user).op->is(ops::concat);
  });
}

// Whether node `n` is a derivative of its first operand's type, and of an array like it.
bool Epilogues::is_gate(int n) const {
  const Node& node = graph_.node(n);
  if (!node.op->row || node.op->derivative_operand < 0 || node.inputs.size() != 2 || assigned_[size_t(n)]) return false;
  const Role role = roles_[size_t(graph_.producer_index(node.inputs[1]))];
  const TensorType& type = graph_.type(node.inputs[0]);
  return (role == Role::fusible || role == Role::opaque) && graph_.type(node.inputs[1]) == type &&
         graph_.type(node.outputs[0]) == type;
}

// Whether no path between these nodes leads over another, so that one kernel can do them.
bool Epilogues::may_be_one(const std::vector<int>& nodes) const {
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

// A node that follows one of them follows all.
void Epilogues::make_one(const std::vector<int>& nodes) {
  std::set<int> all;
  for (int n : nodes) all.insert(next_[size_t(n)].begin(), next_[size_t(n)].end());
  for (int n : nodes) all.erase(n);
  for (int n : nodes) next_[size_t(n)].assign(all.begin(), all.end());
}

// Whether a concatenation that the kernel cannot write into takes what node `n` makes: a fused kernel writes there,
// and is no more work than a copy.
bool Epilogues::joins_better_alone(int n, const LoweredKernel& kernel) const {
  if (!options_.passes.has(LowerPass::join) || kernel.traits().convolution != ConvolutionKind::forward) return false;
  for (int user : uses_[size_t(graph_.node(n).outputs[0].id)]) {
    if (user == graph_.node_count() || !graph_.node(user).op->is(ops::concat)) continue;
    const Node& concat = graph_.node(user);
    const int axis = int(concat.attributes.integer("axis"));
    return !is_writer(kernel, kernel.outputs[0], graph_, options_.kernels.convolutions_write_rows,
                      row_of_part(graph_, kernel.outputs[0], axis)) &&
           has_aligned_rows(graph_, concat.inputs, axis) &&
           std::ranges::all_of(concat.inputs, [&](Value part) { return may_lie_in_rows(part); });
  }
  return false;
}

// Whether only concatenations read a part of one, and what may be fused.
bool Epilogues::may_lie_in_rows(Value part) const {
  const auto& uses = uses_[size_t(part.id)];
  return graph_.producer(part).op->traits.leaf != LeafKind::variable && std::ranges::all_of(uses, [&](int user) {
           return user < graph_.node_count() &&
                  (roles_[size_t(user)] == Role::fusible || graph_.node(user).op->is(ops::concat));
         });
}

}  // namespace neon
