#include "models/exchange.h"

#include <algorithm>

namespace neon {

namespace {

// The bytes of one exchange. A large exchange begins late; a small one costs a meeting of all ranks.
constexpr size_t kBucketBytes = size_t(4) << 20;

}  // namespace

void exchange_in_buckets(Graph& graph, const std::vector<Value*>& values) {
  std::vector<Value*> in_order = values;
  std::ranges::stable_sort(in_order, {}, [&](const Value* value) { return graph.producer_index(*value); });
  for (size_t begin = 0, end = 0; begin < in_order.size(); begin = end) {
    std::vector<Value> bucket;
    size_t bytes = 0;
    const DType dtype = graph.dtype(*in_order[begin]);
    for (; end < in_order.size() && graph.dtype(*in_order[end]) == dtype && bytes < kBucketBytes; ++end) {
      bucket.push_back(*in_order[end]);
      bytes += graph.type(*in_order[end]).bytes();
    }
    const std::vector<Value> sums = exchange(graph, bucket);
    for (size_t i = 0; i < sums.size(); ++i) *in_order[begin + i] = sums[i];
  }
}

void exchange_parts(StepGraph& step, LayerContext& context, std::vector<Value>& gradients, Value& cost) {
  Graph& graph = step.graph;
  Scope scope(graph, "exchange");
  std::vector<Value*> parts;
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!step.parameters[i].trained) continue;
    gradients[i] = cast(graph, gradients[i], compute_type(graph.dtype(gradients[i])));
    parts.push_back(&gradients[i]);
  }
  for (Assignment& update : context.state_updates) {
    update.value = Expr(graph, update.value) * context.share.weight();
    parts.push_back(&update.value);
  }
  parts.push_back(&cost);
  exchange_in_buckets(graph, parts);
}

}  // namespace neon
