#include "backends/graph/lower.h"

#include <algorithm>
#include <queue>
#include <set>

#include "backends/graph/epilogue.h"
#include "backends/graph/expression.h"
#include "backends/graph/fuse.h"
#include "backends/graph/join.h"
#include "backends/graph/passes.h"
#include "backends/graph/plan.h"
#include "backends/graph/prologue.h"

namespace neon {

namespace {

class Lowerer {
 public:
  Lowerer(Graph graph, const LowerOptions& options)
      : options_(options),
        lowered_{.graph = std::move(graph)},
        roles_(roles(lowered_.graph)),
        epilogues_(lowered_.graph, roles_, options_) {
    kernels_of_.resize(size_t(lowered_.graph.node_count()));
    home_.assign(size_t(lowered_.graph.node_count()), -1);
  }

  Lowered run() {
    make_opaque_kernels();
    Groups groups = group_nodes(lowered_.graph, roles_, epilogues_.taken(), epilogues_.next(),
                                {.fuse = options_.fuse, .columns = options_.columns});
    if (options_.remake) groups = with_remade(lowered_.graph, roles_, std::move(groups));
    std::vector<bool> needed = values_needed(groups);
    for (size_t g = 0; g < groups.nodes.size(); ++g)
      if (!groups.nodes[g].empty()) make_fused_kernel(groups, int(g), needed);
    order();
    if (options_.prologues) take_prologues(lowered_);
    lowered_.placements.resize(size_t(graph().value_count()));
    if (options_.join) join_concatenations(lowered_, options_.writers);
    plan_memory(lowered_);
    return std::move(lowered_);
  }

 private:
  const Graph& graph() const { return lowered_.graph; }

  void make_opaque_kernels() {
    for (int i = 0; i < graph().node_count(); ++i) {
      if (roles_[size_t(i)] != Role::opaque || epilogues_.taken()[size_t(i)]) continue;
      const Node& node = graph().node(i);
      LoweredKernel kernel;
      kernel.op = node.op->name;
      kernel.inputs = node.inputs;
      kernel.outputs = node.outputs;
      kernel.attributes = node.attributes;
      kernel.scope = node.scope;
      members_.emplace_back();
      add_member(i, true);
      for (int n : epilogues_.take(kernel, i)) add_member(n, true);
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

  // The code of a group, which stores what is needed and no other group stores.
  std::shared_ptr<FusedKernel> code_of(const Groups& groups, int group, std::vector<bool>& needed) const {
    std::vector<int> elsewhere;
    for (int n : groups.nodes[size_t(group)]) {
      const int value = graph().node(n).outputs[0].id;
      if (groups.home[size_t(n)] == group || !needed[size_t(value)]) continue;
      elsewhere.push_back(value);
      needed[size_t(value)] = false;
    }
    auto code = std::make_shared<FusedKernel>(fused_code(graph(), roles_, groups.nodes[size_t(group)], needed));
    for (int value : elsewhere) needed[size_t(value)] = true;
    return code;
  }

  void make_fused_kernel(const Groups& groups, int group, std::vector<bool>& needed) {
    const std::vector<int>& nodes = groups.nodes[size_t(group)];
    LoweredKernel kernel;
    kernel.op = "fused";
    const auto code = code_of(groups, group, needed);
    code->once = std::ranges::all_of(nodes, [&](int n) { return graph().node(n).attributes.has(kKept); });
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
    kernel.fused = code;
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
      if (kernels[k].op != "columns" || outlives_run(graph(), viewed(graph(), kernels[k].inputs[0]))) continue;
      size_t last = k;
      while (last + 1 < kernels.size() && !std::ranges::count(kernels[last + 1].inputs, kernels[k].outputs[0])) ++last;
      std::rotate(kernels.begin() + long(k), kernels.begin() + long(k) + 1, kernels.begin() + long(last) + 1);
    }
  }

  // Edges from the home of node `from` to kernels that follow node `at`, through views and sources.
  void follow(int from, int at, std::vector<std::set<int>>& after) const {
    const int home = home_[size_t(from)];
    if (home < 0) return;
    const auto& own = kernels_of_[size_t(from)];
    for (int s : epilogues_.next()[size_t(at)]) {
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
  Epilogues epilogues_;
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
  if (options.fuse && options.kept_casts) simple = with_kept_casts(simple);
  if (options.siblings) simple = with_siblings_together(simple);
  if (options.columns) simple = with_slices_of_summands(simple);
  if (options.deep_inputs) simple = with_deep_inputs(simple);
  if (options.product_gradients) simple = with_product_gradients(simple);
  return Lowerer(with_writers(simple), options).run();
}

std::string summary(const LoweredKernel& kernel) {
  std::string out = kernel.op;
  if (kernel.is_once()) out += " once";
  if (kernel.bias) out += " + bias";
  if (kernel.relu) out += " + relu";
  if (kernel.derivative) out += text(" + ", kernel.derivative->name);
  if (kernel.takes_sums()) out += " + sums";
  return out;
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
    out += text(k < 10 ? " " : "", k, "  ", summary(kernel), "  (");
    for (size_t i = 0; i < kernel.inputs.size(); ++i) out += text(i ? ", " : "", typed(kernel.inputs[i]));
    out += ") -> (";
    for (size_t i = 0; i < kernel.outputs.size(); ++i) out += text(i ? ", " : "", typed(kernel.outputs[i]));
    out += ")";
    if (!kernel.attributes.items().empty()) out += text("  ", kernel.attributes);
    if (!kernel.scope.empty()) out += text("  # ", kernel.scope);
    out += "\n";
    for (const auto& code : {kernel.fused, kernel.prologue})
      if (code) out += text("      ", code->to_string(graph), "\n");
  }
  std::string leaves;
  for (LeafKind kind : {LeafKind::input, LeafKind::variable})
    for (Value leaf : graph.leaves(kind))
      leaves += text("  ", typed(leaf), "  ", graph.producer(leaf).op->name, " ",
                     graph.producer(leaf).attributes.string("name"), "\n");
  out += "leaves\n" + leaves;
  out += text("arena ", bytes_text(double(lowered.arena_bytes)), ", all values ",
              bytes_text(double(lowered.value_bytes)), "\n");
  return out;
}

}  // namespace neon
