#include "models/exchange.h"

#include <algorithm>
#include <map>

#include "backends/graph/ops.h"
#include "models/updater.h"

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

void exchange_in_buckets(Graph& graph, const std::vector<Value*>& values) {
  std::vector<Value*> in_order = values;
  std::ranges::stable_sort(in_order, {}, [&](const Value* value) { return graph.producer_index(*value); });
  struct Bucket {
    std::vector<Value*> values;
    size_t bytes = 0;
  };
  std::map<DType, Bucket> open;
  const auto close = [&](Bucket& bucket) {
    std::vector<Value> arrays;
    for (const Value* value : bucket.values) arrays.push_back(*value);
    const std::vector<Value> sums = exchange(graph, arrays);
    for (size_t i = 0; i < sums.size(); ++i) *bucket.values[i] = sums[i];
    bucket = {};
  };
  for (Value* value : in_order) {
    Bucket& bucket = open[graph.dtype(*value)];
    bucket.values.push_back(value);
    bucket.bytes += graph.type(*value).bytes();
    if (bucket.bytes >= kBucketBytes) close(bucket);
  }
  for (auto& [dtype, bucket] : open) close(bucket);
}

Value exchange_parts(StepGraph& step, LayerContext& context, std::vector<Value>& gradients, Value& cost) {
  Graph& graph = step.graph;
  Scope scope(graph, "exchange");
  std::vector<Value*> parts;
  std::vector<std::pair<Value*, DType>> narrowed;
  std::vector<Value> split;
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!step.parameters[i].trained) continue;
    Value& gradient = gradients[i];
    if (step.parameters[i].is_split()) {
      split.push_back(gradient);
      continue;
    }
    if (context.wide_gradients) gradient = cast(graph, gradient, compute_type(graph.dtype(gradient)));
    else narrowed.push_back({&gradient, graph.dtype(gradient)}), gradient = as_computed(graph, gradient);
    parts.push_back(&gradient);
  }
  for (Assignment& update : context.state_updates) {
    update.value = Expr(graph, update.value) * context.share.weight();
    parts.push_back(&update.value);
  }
  parts.push_back(&cost);
  Value spoilt = split.empty() ? Value() : not_finite(graph, split, graph.dtype(cost)).value();
  if (spoilt) parts.push_back(&spoilt);
  exchange_in_buckets(graph, parts);
  for (const auto& [gradient, dtype] : narrowed) *gradient = cast(graph, *gradient, dtype);
  return spoilt;
}

Expr over_ranks(const Parameter& parameter, Expr part) {
  return parameter.is_split() ? Expr(part.graph(), exchange(part.graph(), {part})[0]) : part;
}

}  // namespace neon
