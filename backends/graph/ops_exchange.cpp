// exchange(x...) -> y...: each y is the sum of its x over all ranks (backends/ranks.h). Where a program has no other
// ranks it is x itself, as defined here.
//
// A gradient is that of the sum of what all ranks compute: x of one rank enters y of every rank, so that the cotangents
// are summed over ranks, too.
#include "backends/graph/expression.h"
#include "backends/graph/ops.h"

namespace neon {

namespace {

std::vector<TensorType> infer_exchange(const InferContext& c) {
  if (c.inputs.empty()) fail(ErrorKind::config, "exchange takes at least one array");
  for (const TensorType& type : c.inputs)
    if (!is_floating(type.dtype) || type.dtype != c.inputs[0].dtype)
      fail(ErrorKind::config, "exchange takes floating arrays of one type, got ", c.inputs[0], " and ", type);
  return {c.inputs.begin(), c.inputs.end()};
}

std::vector<Value> define_exchange(Graph&, const Node& node) { return node.inputs; }

void exchange_gradient(GradientContext& c) {
  std::vector<Value> given;
  std::vector<size_t> places;
  for (size_t i = 0; i < c.cotangents.size(); ++i)
    if (c.cotangents[i]) given.push_back(c.cotangents[i]), places.push_back(i);
  const std::vector<Value> sums = exchange(c.graph, given);
  for (size_t i = 0; i < sums.size(); ++i) c.results[places[i]] = sums[i];
}

const OpRegistration exchange_op(
    {ops::exchange, infer_exchange, exchange_gradient, define_exchange, {.exchanges = true}});

}  // namespace

std::vector<Value> exchange(Graph& graph, std::vector<Value> values) {
  if (values.empty()) return {};
  return graph.add_all(ops::exchange, std::move(values));
}

}  // namespace neon
