#include "models/exchange.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "backends/graph/ops.h"
#include "backends/graph/rank_rows.h"
#include "models/rule_ranks.h"
#include "models/updater.h"
#include "transforms/parts.h"

namespace neon {

namespace {

// The bytes of one exchange. A large exchange begins late. While one goes on, a GPU's kernels that count on all of its
// processors take up to twice as long: on two H100s, GoogLeNet's step of 6.5 ms takes 0.3 ms more with exchanges of
// 4 MiB, which take less than 0.1 ms.
constexpr size_t kBucketBytes = size_t(32) << 20;

// The 16-bit number that a wider one was made of, or the number itself.
Value as_computed(const Graph& graph, Value value) {
  const Node& node = graph.producer(value);
  return node.op->is(ops::cast) && size_of(graph.dtype(node.inputs[0])) == 2 ? node.inputs[0] : value;
}

}  // namespace

namespace {

// Exchanges values of one type each together, in the order in which they are made. exchange(indices of `values`) puts
// the results in their places.
template <typename Exchange>
void in_buckets(const Graph& graph, const std::vector<Value*>& values, Exchange&& exchange) {
  std::vector<size_t> in_order(values.size());
  std::iota(in_order.begin(), in_order.end(), size_t(0));
  std::ranges::stable_sort(in_order, {}, [&](size_t i) { return graph.producer_index(*values[i]); });
  struct Bucket {
    std::vector<size_t> values;
    size_t bytes = 0;
  };
  std::map<DType, Bucket> open;
  const auto close = [&](Bucket& bucket) {
    if (!bucket.values.empty()) exchange(bucket.values);
    bucket = {};
  };
  for (const size_t i : in_order) {
    Bucket& bucket = open[graph.dtype(*values[i])];
    bucket.values.push_back(i);
    bucket.bytes += graph.type(*values[i]).bytes();
    if (bucket.bytes >= kBucketBytes) close(bucket);
  }
  for (auto& [dtype, bucket] : open) close(bucket);
}

// The gradient of a parameter whose rows ranks share, and how many each has.
struct Scattered {
  Value* gradient = nullptr;
  RankRows rows;
};

// Puts the sum over ranks of this rank's rows in the place of each gradient of all rows.
void scatter_in_buckets(Graph& graph, const std::vector<Scattered>& gradients) {
  std::vector<Value*> values;
  for (const Scattered& each : gradients) values.push_back(each.gradient);
  in_buckets(graph, values, [&](const std::vector<size_t>& bucket) {
    std::vector<Value> arrays;
    std::vector<RankRows> rows;
    for (const size_t i : bucket) arrays.push_back(*values[i]), rows.push_back(gradients[i].rows);
    const std::vector<Value> sums = reduce_scatter(graph, arrays, rows);
    for (size_t k = 0; k < bucket.size(); ++k) *values[bucket[k]] = sums[k];
  });
}

}  // namespace

void exchange_in_buckets(Graph& graph, const std::vector<Value*>& values) {
  in_buckets(graph, values, [&](const std::vector<size_t>& bucket) {
    std::vector<Value> arrays;
    for (const size_t i : bucket) arrays.push_back(*values[i]);
    const std::vector<Value> sums = exchange(graph, arrays);
    for (size_t k = 0; k < bucket.size(); ++k) *values[bucket[k]] = sums[k];
  });
}

namespace {

// Makes the updates of states this rank's parts of means over the batch, to be added up. Chains are whole already.
void add_state_updates(Graph& graph, LayerContext& context, std::vector<Value*>& parts) {
  for (Assignment& update : context.state_updates) {
    if (has_chains(graph.producer(update.variable).attributes.string("name"))) continue;
    update.value = Expr(graph, update.value) * context.share.weight();
    parts.push_back(&update.value);
  }
}

}  // namespace

Value exchange_parts(StepGraph& step, LayerContext& context, std::vector<Value>& gradients, Value& cost) {
  Graph& graph = step.graph;
  Scope scope(graph, "exchange");
  std::vector<Value*> parts;
  std::vector<Scattered> scattered;
  std::vector<std::pair<Value*, DType>> narrowed;
  std::vector<const Value*> split;
  for (size_t i = 0; i < gradients.size(); ++i) {
    const Parameter& p = step.parameters[i];
    if (!p.trained) continue;
    Value& gradient = gradients[i];
    if (p.is_split()) split.push_back(&gradient);
    if (p.is_split() && !p.gathered) continue;
    if (context.wide_gradients) gradient = cast(graph, gradient, compute_type(graph.dtype(gradient)));
    else narrowed.push_back({&gradient, graph.dtype(gradient)}), gradient = as_computed(graph, gradient);
    if (p.gathered) scattered.push_back({&gradient, gathered_rows(p, context.share)});
    else parts.push_back(&gradient);
  }
  scatter_in_buckets(graph, scattered);
  add_state_updates(graph, context, parts);
  parts.push_back(&cost);
  std::vector<Value> whole;
  for (const Value* gradient : split) whole.push_back(*gradient);
  Value spoilt = whole.empty() ? Value() : not_finite(graph, whole, graph.dtype(cost)).value();
  if (spoilt) parts.push_back(&spoilt);
  exchange_in_buckets(graph, parts);
  for (const auto& [gradient, dtype] : narrowed) *gradient = cast(graph, *gradient, dtype);
  return spoilt;
}

Value exchange_counts(StepGraph& step, LayerContext& context, const std::vector<Value>& gradients, Value& cost) {
  Graph& graph = step.graph;
  Scope scope(graph, "exchange");
  std::vector<Value> trained;
  for (size_t i = 0; i < gradients.size(); ++i)
    if (step.parameters[i].trained) trained.push_back(gradients[i]);
  Value spoilt = not_finite(graph, trained, graph.dtype(cost));
  std::vector<Value*> parts;
  add_state_updates(graph, context, parts);
  parts.push_back(&cost);
  parts.push_back(&spoilt);
  exchange_in_buckets(graph, parts);
  return spoilt;
}

void exchange_sums(const StepGraph& step, const LayerContext& context, std::vector<Expr>& sums) {
  Graph& graph = context.graph;
  Scope scope(graph, "exchange");
  std::vector<Value> values(sums.begin(), sums.end());
  std::vector<Value*> parts;
  std::vector<Scattered> scattered;
  for (size_t i = 0; i < sums.size(); ++i) {
    const Parameter& p = step.parameters[i];
    if (p.gathered && p.trained) scattered.push_back({&values[i], gathered_rows(p, context.share)});
    else if (p.trained && !p.is_split()) parts.push_back(&values[i]);
  }
  scatter_in_buckets(graph, scattered);
  exchange_in_buckets(graph, parts);
  for (size_t i = 0; i < sums.size(); ++i) sums[i] = {graph, values[i]};
}

Expr rows_of_ranks(LayerContext& context, Expr own) {
  const BatchShare& share = context.share;
  if (share.count == 0 || share.ranks == 1) return own;
  Graph& graph = context.graph;
  const RankRows rows{counts_of_ranks(share), share.of.rank};
  const Expr all(graph, all_gather(graph, own, rows));
  if (rows.all() == share.whole) return all;
  std::vector<Expr> parts;  // without those of ranks that compute the last sample again
  for (int rank = 0; rank < share.ranks; ++rank)
    if (share_of(share.whole, share.places, {rank, share.ranks}).counts)
      parts.push_back(part(all, 0, rows.first(rank), rows.rows[size_t(rank)]));
  return beside(parts, 0);
}

Expr over_ranks(const Parameter& parameter, Expr part) {
  return parameter.is_split() ? Expr(part.graph(), exchange(part.graph(), {part})[0]) : part;
}

}  // namespace neon
