#include "backends/ranks/same_exchanges.h"

#include <algorithm>

#include "backends/graph/exchange_order.h"
#include "backends/graph/op.h"
#include "backends/graph/ops.h"
#include "backends/graph/plan.h"
#include "backends/graph/rank_rows.h"
#include "neon/core/random.h"

namespace neon {

namespace {

constexpr std::string_view kEnd = ";\n";  // of an exchange

bool is_exchange(const LoweredKernel& kernel) { return kernel.traits().exchanges; }

// Describes a kernel that moves rows by all that ranks must have alike: not how many rows are its own.
std::string moved_rows(const LoweredKernel& kernel, const Graph& graph) {
  std::string out;
  for (size_t i = 0; i < kernel.inputs.size(); ++i) {
    const Shape& shape = graph.shape(kernel.inputs[i]);
    out += text(kernel.op->name, " ", kernel.scope, " ", graph.dtype(kernel.inputs[i]), " ",
                shape.slice(kernel.is(ops::all_to_all) ? shape.rank() - 1 : 1, shape.rank()), " of");
    for (const int64_t count : rank_rows(kernel.attributes, i, kernel.inputs.size()).rows) out += text(" ", count);
    out += "\n";
  }
  return out;
}

// The same of a kernel that sums arrays.
std::string summed_arrays(const LoweredKernel& kernel, const Lowered& lowered) {
  std::string out;
  for (size_t i = 0; i < kernel.inputs.size(); ++i) {
    const Value value = kernel.inputs[i];
    const bool behind = i > 0 && lies_behind(lowered, kernel.inputs[i - 1], value);
    out += text(lowered.graph.producer(value).scope, " ", lowered.graph.type(value), behind ? "" : " alone", "\n");
  }
  return out;
}

// Describes each exchange, in the order in which they run. Equal descriptions are numbered by their nodes.
std::vector<std::string> exchanges_of(const Lowered& lowered) {
  std::vector<std::string> out;
  for (const LoweredKernel& kernel : lowered.kernels)
    if (is_exchange(kernel))
      out.push_back(kernel.is(ops::exchange) ? summed_arrays(kernel, lowered) : moved_rows(kernel, lowered.graph));
  const std::vector<int> order = order_of_exchanges(lowered);
  std::vector<std::string> by_node(out.size());
  for (size_t i = 0; i < out.size(); ++i) by_node[size_t(order[i])] = out[i];
  for (size_t i = 0; i < out.size(); ++i)
    out[i] += text("number ", std::count(by_node.begin(), by_node.begin() + order[i], out[i]), kEnd);
  return out;
}

std::string in_one_text(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& each : texts) out += each;
  return out;
}

// The first rank that has other exchanges than rank 0, or has them in another order; 0: none.
int other_rank(Ranks& ranks, const std::vector<std::string>& exchanges) {
  const uint64_t hash = hash_name(in_one_text(exchanges));
  const double own[] = {double(hash >> 32), double(hash & 0xffffffff)};
  const std::vector<double> of_all = ranks.gather(own);
  for (size_t k = 2; k < of_all.size(); ++k)
    if (of_all[k] != of_all[k % 2]) return int(k / 2);
  return 0;
}

// The numbers of this rank's exchanges, by their nodes, in the order of rank 0; empty where they are others.
std::vector<int> order_of_rank_0(const std::string& of_rank_0, const Lowered& lowered,
                                 const std::vector<std::string>& own) {
  const std::vector<int> numbers = order_of_exchanges(lowered);
  std::vector<int> out;
  for (size_t at = 0; at < of_rank_0.size();) {
    const size_t end = of_rank_0.find(kEnd, at) + kEnd.size();
    const auto found = std::ranges::find(own, of_rank_0.substr(at, end - at));
    if (found == own.end()) return {};
    out.push_back(numbers[size_t(found - own.begin())]);
    at = end;
  }
  return out.size() == own.size() ? out : std::vector<int>{};
}

}  // namespace

Lowered lower_alike(const Graph& graph, const LowerOptions& options, Ranks* ranks) {
  Lowered out = lower(graph, options);
  if (!ranks || std::ranges::none_of(out.kernels, is_exchange)) return out;
  std::vector<std::string> own = exchanges_of(out);
  if (other_rank(*ranks, own) == 0) return out;
  const std::string of_rank_0 = ranks->gather_texts(in_one_text(own))[0];
  const std::vector<int> order = order_of_rank_0(of_rank_0, out, own);
  if (!order.empty() && !ranks->leads()) out = lower_in_order(graph, options, order), own = exchanges_of(out);
  if (const int other = other_rank(*ranks, own))
    fail(ErrorKind::failed, "rank ", other, " exchanges other arrays than rank 0, or in another order, as their ",
         "shares of a batch differ; take batches that the ranks share evenly, the last one of an epoch, too (-z)");
  return out;
}

}  // namespace neon
