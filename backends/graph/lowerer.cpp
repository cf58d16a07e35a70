// Nodes become kernels: those of ops with kernels of their own first, then groups of fusible ones.
#include "backends/graph/lowerer.h"

#include <algorithm>
#include <queue>
#include <set>

#include "backends/graph/exchange_order.h"
#include "backends/graph/join.h"
#include "backends/graph/ops.h"
#include "backends/graph/plan.h"

namespace neon {

namespace {

constexpr size_t kEarlyBytes = size_t(1) << 20;  // of an exchange

}  // namespace

Lowerer::Lowerer(Graph graph, const LowerOptions& options, std::span<const int> exchanges)
    : options_(options),
      exchanges_(exchanges.begin(), exchanges.end()),
      lowered_{.graph = std::move(graph)},
      roles_(roles(lowered_.graph)),
      epilogues_(lowered_.graph, roles_, options_) {
  kernels_of_.resize(size_t(lowered_.graph.node_count()));
  home_.assign(size_t(lowered_.graph.node_count()), -1);
}

void Lowerer::group() {
  groups_ =
      group_nodes(graph(), roles_, epilogues_.taken(), epilogues_.next(),
                  {.fuse = options_.passes.has(LowerPass::fusion), .columns = options_.passes.has(LowerPass::columns)});
}

void Lowerer::remake() { groups_ = with_remade(graph(), roles_, std::move(groups_)); }

void Lowerer::make_fused_kernels() {
  std::vector<bool> needed = values_needed(groups_);
  for (size_t g = 0; g < groups_.nodes.size(); ++g)
    if (!groups_.nodes[g].empty()) make_fused_kernel(int(g), needed);
  order();
  lowered_.placements.resize(size_t(graph().value_count()));
}

void Lowerer::set_operands_apart() {
  if (!options_.kernels.computes_image) return;
  std::vector<bool> computes(size_t(graph().node_count()), false);
  for (size_t k = 0; k < lowered_.kernels.size(); ++k)
    computes[size_t(members_[k][0])] = options_.kernels.computes_image(lowered_.kernels[k], graph(), nullptr);
  for (int n = 0; n < graph().node_count(); ++n)
    if (computes[size_t(n)]) groups_ = with_operand_apart(graph(), roles_, std::move(groups_), n, computes);
}

void Lowerer::join() { join_concatenations(lowered_, options_.kernels.convolutions_write_rows); }

std::map<std::string, int64_t> Lowerer::counts() const {
  std::map<std::string, int64_t> out;
  for (const LoweredKernel& kernel : lowered_.kernels)
    ++out[kernel.fused ? "fused kernels" : summary(kernel) + (kernel.prologue() ? " + prologue" : "")];
  const bool made = std::ranges::any_of(lowered_.kernels, [](const LoweredKernel& k) { return bool(k.fused); });
  for (const auto& nodes : groups_.nodes) {
    if (!made && !nodes.empty()) ++out["fused kernels"];
    out["nodes in them"] += int64_t(nodes.size());
  }
  for (const Placement& placement : lowered_.placements)
    if (placement) ++out["parts written where they are joined"];
  if (lowered_.arena_bytes) out["KiB of memory"] = int64_t(lowered_.arena_bytes + 1023) / 1024;
  return out;
}

void Lowerer::make_kernels_of_ops() {
  for (int i = 0; i < graph().node_count(); ++i) {
    if (roles_[size_t(i)] != Role::opaque || epilogues_.taken()[size_t(i)]) continue;
    const Node& node = graph().node(i);
    LoweredKernel kernel;
    kernel.op = node.op;
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

// Adds node n to the last kernel. The kernel that others read the node from is its home.
void Lowerer::add_member(int n, bool at_home) {
  const int kernel = int(members_.size()) - 1;
  members_.back().push_back(n);
  kernels_of_[size_t(n)].push_back(kernel);
  if (at_home) home_[size_t(n)] = kernel;
}

// Values read by another kernel than the one that makes them, or by the caller.
std::vector<bool> Lowerer::values_needed(const Groups& groups) const {
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
std::shared_ptr<FusedKernel> Lowerer::code_of(int group, std::vector<bool>& needed) const {
  std::vector<int> elsewhere;
  for (int n : groups_.nodes[size_t(group)]) {
    const int value = graph().node(n).outputs[0].id;
    if (groups_.home[size_t(n)] == group || !needed[size_t(value)]) continue;
    elsewhere.push_back(value);
    needed[size_t(value)] = false;
  }
  auto code = std::make_shared<FusedKernel>(fused_code(graph(), roles_, groups_.nodes[size_t(group)], needed));
  for (int value : elsewhere) needed[size_t(value)] = true;
  return code;
}

void Lowerer::make_fused_kernel(int group, std::vector<bool>& needed) {
  const std::vector<int>& nodes = groups_.nodes[size_t(group)];
  LoweredKernel kernel;
  const auto code = code_of(group, needed);
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
  for (int n : nodes) add_member(n, groups_.home[size_t(n)] == group);
  lowered_.kernels.push_back(std::move(kernel));
}

// Whether it moves rows between ranks, as those of backends/graph/rank_rows.h do.
static bool moves_rows(const LoweredKernel& kernel) { return kernel.traits().exchanges && !kernel.is(ops::exchange); }

// Whether it is an exchange between ranks that takes its time, beside the kernels that follow. A small sum would only
// take processors from those; moved rows are waited for soon.
bool Lowerer::begins_early(const LoweredKernel& kernel) const {
  if (!kernel.is(ops::exchange)) return moves_rows(kernel);
  size_t bytes = 0;
  for (Value value : kernel.inputs) bytes += graph().type(value).bytes();
  return bytes >= kEarlyBytes;
}

// Kernels in an order in which every one runs after what it needs; among those that could run, a large exchange, or one
// that moved rows wait for, or else the one whose nodes came first in the graph.
void Lowerer::order() {
  std::vector<std::set<int>> after(members_.size());
  std::vector<int> waiting(members_.size(), 0);
  for (int n = 0; n < graph().node_count(); ++n) follow(n, n, after), hold_writers(n, after);
  hold_exchanges(after);
  for (const auto& set : after)
    for (int k : set) ++waiting[size_t(k)];
  std::priority_queue<std::pair<int, int>, std::vector<std::pair<int, int>>, std::greater<>> ready;
  auto offer = [&](int k) {
    const int place = *std::ranges::max_element(members_[size_t(k)]);
    const bool first = begins_early(lowered_.kernels[size_t(k)]) || std::ranges::any_of(after[size_t(k)], [&](int s) {
                         return moves_rows(lowered_.kernels[size_t(s)]);
                       });
    ready.push({first ? place - graph().node_count() : place, k});
  };
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
  if (!exchanges_.empty() && ordered.size() < lowered_.kernels.size())
    fail(ErrorKind::failed, "the exchanges of this rank cannot run in the order of rank 0");
  NEON_ASSERT(ordered.size() == lowered_.kernels.size());
  // Kernels that run once may run before all others.
  for (const LoweredKernel& kernel : ordered)
    for (Value input : kernel.inputs) NEON_ASSERT(!kernel.is_once() || outlives_run(graph(), viewed(graph(), input)));
  lowered_.kernels = std::move(ordered);
  put_off_columns();
}

// Edges from each exchange to the one that is to run after it.
void Lowerer::hold_exchanges(std::vector<std::set<int>>& after) const {
  if (exchanges_.empty()) return;
  std::vector<std::pair<int, int>> all;  // by node
  for (size_t k = 0; k < lowered_.kernels.size(); ++k)
    if (const LoweredKernel& kernel = lowered_.kernels[k]; kernel.traits().exchanges)
      all.emplace_back(graph().producer_index(kernel.outputs[0]), int(k));
  std::ranges::sort(all);
  NEON_ASSERT(all.size() == exchanges_.size());
  for (size_t i = 1; i < exchanges_.size(); ++i)
    after[size_t(all[size_t(exchanges_[i - 1])].second)].insert(all[size_t(exchanges_[i])].second);
}

std::vector<int> order_of_exchanges(const Lowered& lowered) {
  std::vector<int> nodes;
  for (const LoweredKernel& kernel : lowered.kernels)
    if (kernel.traits().exchanges) nodes.push_back(lowered.graph.producer_index(kernel.outputs[0]));
  std::vector<int> sorted = nodes, out;
  std::ranges::sort(sorted);
  for (const int node : nodes) out.push_back(int(std::ranges::lower_bound(sorted, node) - sorted.begin()));
  return out;
}

// Columns are many times as large as what they are made of, and could be made long before anyone reads them: each
// just before its first reader; not those of variables, which may be written in between.
void Lowerer::put_off_columns() {
  auto& kernels = lowered_.kernels;
  for (size_t k = kernels.size(); k-- > 0;) {
    if (!kernels[k].traits().enlarges || outlives_run(graph(), viewed(graph(), kernels[k].inputs[0]))) continue;
    size_t last = k;
    while (last + 1 < kernels.size() && !std::ranges::count(kernels[last + 1].inputs, kernels[k].outputs[0])) ++last;
    std::rotate(kernels.begin() + long(k), kernels.begin() + long(k) + 1, kernels.begin() + long(last) + 1);
  }
}

// Edges from each kernel that makes what node n does to those that write a variable which n reads. The writer may read
// what n makes, too.
void Lowerer::hold_writers(int n, std::vector<std::set<int>>& after) const {
  const auto& own = kernels_of_[size_t(n)];
  if (own.size() < 2) return;
  std::set<int> writers;
  for (const Assignment& a : graph().assignments())
    for (Value input : graph().node(n).inputs)
      if (viewed(graph(), input) == viewed(graph(), a.variable)) writers.insert(graph().producer_index(a.value));
  for (int s : epilogues_.next()[size_t(n)]) {
    const bool reads =
        std::ranges::any_of(graph().node(s).inputs, [&](Value input) { return graph().producer_index(input) == n; });
    if (reads && !writers.count(s)) continue;
    for (int writer : kernels_of_[size_t(s)])
      for (int k : own)
        if (k != writer) after[size_t(k)].insert(writer);
  }
}

// Edges from the home of node `from` to kernels that follow node `at`, through views and sources.
void Lowerer::follow(int from, int at, std::vector<std::set<int>>& after) const {
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

}  // namespace neon
