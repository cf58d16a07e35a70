// The sums over ranks of a training step: which arrays, in which types and together with which others.
#include "models/exchange.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "backends/graph/ops.h"
#include "tests/models/trained_net.h"

using namespace neon;
using namespace neon_test;

namespace {

std::vector<const Node*> exchanges_of(const Graph& graph) {
  std::vector<const Node*> out;
  for (int i = 0; i < graph.node_count(); ++i)
    if (graph.node(i).op->is(ops::exchange)) out.push_back(&graph.node(i));
  return out;
}

// By type, the elements of all arrays that the first of two ranks exchanges.
std::map<DType, int64_t> exchanged(DType dtype, bool wide) {
  const NetData data = drawn_data(DType::f32);
  const StepOptions options{.dtype = dtype, .batch = 4, .share = share_of(8, 8, {0, 2}), .wide_gradients = wide};
  const Trained net("Adam", data, options);
  const Graph& graph = net.run.graph.graph;
  std::map<DType, int64_t> out;
  for (const Node* node : exchanges_of(graph))
    for (Value value : node->inputs) out[graph.dtype(value)] += graph.shape(value).elements();
  return out;
}

}  // namespace

TEST_CASE("ranks add up the cost in f32, and gradients as they are computed or in f32") {
  const int64_t parameters = 6 * 5 + 6 + 3 * 6 + 3;
  using Elements = std::map<DType, int64_t>;
  CHECK(exchanged(DType::f32, false) == Elements{{DType::f32, parameters + 1}});
  CHECK(exchanged(DType::bf16, true) == Elements{{DType::f32, parameters + 1}});
  CHECK(exchanged(DType::bf16, false) == Elements{{DType::bf16, parameters}, {DType::f32, 1}});
  CHECK(exchanged(DType::f16, false) == Elements{{DType::f16, parameters}, {DType::f32, 1}});
}

TEST_CASE("exchanges are of one type each, in the order of their arrays, and end where they are large") {
  constexpr int64_t kMiB = 1 << 20;
  Graph graph;
  std::vector<Value> values;
  const auto add = [&](DType dtype, int64_t bytes) {
    const Value x = graph.input(text("x", values.size()), dtype, {bytes / int64_t(size_of(dtype))});
    values.push_back(Expr(graph, x) * 2);
  };
  add(DType::f32, 20 * kMiB), add(DType::f16, 4), add(DType::f32, 20 * kMiB), add(DType::f16, 4), add(DType::f32, 4);
  const std::vector<Value> before = values;
  std::vector<Value*> places;
  for (Value& value : values) places.insert(places.begin(), &value);  // in any order
  exchange_in_buckets(graph, places);
  std::vector<std::vector<Value>> inputs;
  for (const Node* node : exchanges_of(graph)) inputs.push_back(node->inputs);
  std::ranges::sort(inputs);
  CHECK(inputs == std::vector<std::vector<Value>>{{before[0], before[2]}, {before[1], before[3]}, {before[4]}});
  for (size_t i = 0; i < values.size(); ++i) {
    const Node& node = graph.producer(values[i]);
    REQUIRE(node.op->is(ops::exchange));
    const auto place = std::ranges::find(node.outputs, values[i]) - node.outputs.begin();
    CHECK(node.inputs[size_t(place)] == before[i]);
  }
}

TEST_CASE("ranks that sum accumulated gradients apart exchange them in steps that update alone") {
  const int64_t parameters = 6 * 5 + 6 + 3 * 6 + 3;
  const NetData data = drawn_data(DType::f32);
  for (const bool updates : {false, true}) {
    StepOptions options{.dtype = DType::f32, .batch = 4, .accumulate = 3, .updates = updates};
    options.share = share_of(8, 8, {0, 2});
    const Trained net("Adam", data, options);
    const Graph& graph = net.run.graph.graph;
    int64_t elements = 0;
    for (const Node* node : exchanges_of(graph))
      for (Value value : node->inputs) elements += graph.shape(value).elements();
    INFO("updates: " << updates);
    CHECK(elements == 2 + (updates ? parameters : 0));  // the cost, and how many numbers are not finite
  }
}
