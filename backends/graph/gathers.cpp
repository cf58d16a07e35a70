// Rows of weights that ranks share: a step gathers all rows before its layers need them. An exchange costs some time
// whatever its bytes, so that weights of neighbouring layers are gathered together.
#include <map>

#include "backends/graph/ops.h"
#include "backends/graph/passes.h"
#include "backends/graph/rank_rows.h"
#include "backends/graph/rewrite.h"

namespace neon {

namespace {

// The bytes of the rows of all ranks in one exchange. The first layers wait for the first exchange as a whole.
constexpr size_t kGatheredBytes = size_t(8) << 20;

// Whether it is a variable, or one cast to another type.
bool is_stored(const Graph& graph, Value value) {
  const Node& maker = graph.producer(value);
  if (maker.op->traits.leaf == LeafKind::variable) return true;
  return maker.op->is(ops::cast) && is_stored(graph, maker.inputs[0]);
}

bool gathers_stored(const Graph& graph, const Node& node) {
  if (!node.op->is(ops::all_gather)) return false;
  for (const Value input : node.inputs)
    if (!is_stored(graph, input)) return false;
  return true;
}

struct GatherBucket {
  std::vector<const Node*> nodes;
  size_t bytes = 0;
  std::vector<Value> results;  // in the new graph
};

class GatherBuckets {
 public:
  explicit GatherBuckets(const Graph& graph) : graph_(graph) {
    const std::vector<bool> live = live_nodes(graph);
    std::map<DType, size_t> open;
    for (int n = 0; n < graph.node_count(); ++n) {
      const Node& node = graph.node(n);
      if (!live[size_t(n)] || node.outputs.size() != 1 || !gathers_stored(graph, node)) continue;
      const size_t bytes = graph.type(node.outputs[0]).bytes();
      const auto found = open.find(graph.dtype(node.outputs[0]));
      if (found == open.end() || buckets_[found->second].bytes + bytes > kGatheredBytes) {
        open[graph.dtype(node.outputs[0])] = buckets_.size();
        buckets_.emplace_back();
      }
      const size_t bucket = open[graph.dtype(node.outputs[0])];
      places_[node.outputs[0]] = {bucket, buckets_[bucket].nodes.size()};
      buckets_[bucket].nodes.push_back(&node);
      buckets_[bucket].bytes += bytes;
    }
  }

  bool empty() const { return buckets_.empty(); }
  // The result in `to` of a node's exchange, with those of its bucket; none for a node that is in no bucket.
  std::vector<Value> result(Graph& to, const Node& node) {
    const auto found = places_.find(node.outputs[0]);
    if (found == places_.end()) return {};
    GatherBucket& bucket = buckets_[found->second.first];
    if (bucket.results.empty()) bucket.results = gathered(to, bucket);
    return {bucket.results[found->second.second]};
  }

 private:
  std::vector<Value> gathered(Graph& to, const GatherBucket& bucket) const {
    std::vector<Value> own;
    std::vector<RankRows> rows;
    for (const Node* node : bucket.nodes)
      own.push_back(copied(to, node->inputs[0])), rows.push_back(rank_rows(node->attributes));
    return all_gather(to, own, rows);
  }

  // The same value in the new graph, which makes equal nodes once.
  Value copied(Graph& to, Value value) const {
    const Node& node = graph_.producer(value);
    std::vector<Value> inputs;
    for (const Value input : node.inputs) inputs.push_back(copied(to, input));
    return to.add(node.op->name, inputs, node.attributes);
  }

  const Graph& graph_;
  std::vector<GatherBucket> buckets_;
  std::map<Value, std::pair<size_t, size_t>> places_;  // of a result: its bucket, and where in it
};

}  // namespace

Graph with_gathers_together(const Graph& graph) {
  GatherBuckets buckets(graph);
  if (buckets.empty()) return graph;
  return rewritten(graph, [&](Graph& to, const Node& node) { return buckets.result(to, node); });
}

}  // namespace neon
