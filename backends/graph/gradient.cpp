// Reverse accumulation: walks the nodes from the output back and lets each op's rule append the
// cotangents of its inputs. Values whose gradient nobody needs get none.
#include "backends/graph/expression.h"
#include "backends/graph/guided_gradient.h"
#include "backends/graph/op.h"
#include "backends/graph/ops.h"

namespace neon {

Value sum_to_shape(Graph& graph, Value value, const Shape& shape) {
  const Shape from = graph.shape(value);
  if (from == shape) return value;
  const int extra = from.rank() - shape.rank();
  std::vector<int64_t> axes;
  for (int axis = 0; axis < from.rank(); ++axis)
    if (axis < extra || (shape[axis - extra] == 1 && from[axis] != 1)) axes.push_back(axis);
  if (!axes.empty()) value = graph.add("sum", {value}, {{"axes", axes}});
  return extra == 0 ? value : reshape(graph, value, shape);
}

namespace {

// Which values depend on one of `wanted`.
std::vector<bool> dependents(const Graph& graph, std::span<const Value> wanted) {
  std::vector<bool> depends(size_t(graph.value_count()), false);
  for (Value value : wanted) depends[size_t(value.id)] = true;
  for (int i = 0; i < graph.node_count(); ++i) {
    const Node& node = graph.node(i);
    bool any = false;
    for (Value input : node.inputs) any = any || depends[size_t(input.id)];
    // A function that steps from integer to integer has no slope.
    if (any && node.op->gradient)
      for (Value output : node.outputs) depends[size_t(output.id)] = is_floating(graph.dtype(output));
  }
  return depends;
}

std::vector<Value> walk_back(Graph& graph, Value output, std::span<const Value> wanted, Value seed, bool guided) {
  const std::vector<bool> depends = dependents(graph, wanted);
  std::vector<Value> cotangents(depends.size());
  if (!seed) seed = broadcast_to(graph, graph.constant(1, graph.dtype(output)), graph.shape(output));
  NEON_ASSERT(graph.shape(seed) == graph.shape(output));
  cotangents[size_t(output.id)] = seed;

  for (int index = graph.producer_index(output); index >= 0; --index) {
    const Node node = graph.node(index);
    std::vector<Value> incoming;
    bool reached = false;
    for (Value value : node.outputs) {
      incoming.push_back(cotangents[size_t(value.id)]);
      reached = reached || bool(incoming.back());
    }
    if (!reached || !node.op->gradient || !depends[size_t(node.outputs[0].id)]) continue;
    std::vector<bool> wanted_inputs;
    bool any = false;
    for (Value input : node.inputs) {
      wanted_inputs.push_back(depends[size_t(input.id)] && is_floating(graph.dtype(input)));
      any = any || wanted_inputs.back();
    }
    if (!any) continue;
    Scope scope(graph, node.scope);
    if (guided && node.op->is(ops::relu)) incoming[0] = graph.add(ops::relu, {incoming[0]});
    GradientContext context(graph, node, incoming, wanted_inputs);
    node.op->gradient(context);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!wanted_inputs[i] || !context.results[i]) continue;
      NEON_ASSERT(graph.shape(context.results[i]) == graph.shape(node.inputs[i]));
      Value& total = cotangents[size_t(node.inputs[i].id)];
      total = total ? graph.add("add", {total, context.results[i]}) : context.results[i];
    }
  }
  std::vector<Value> out;
  for (Value value : wanted) out.push_back(cotangents[size_t(value.id)]);
  return out;
}

}  // namespace

std::vector<Value> gradients(Graph& graph, Value output, std::span<const Value> wanted, Value seed) {
  return walk_back(graph, output, wanted, seed, false);
}

std::vector<Value> guided_gradients(Graph& graph, Value output, std::span<const Value> wanted) {
  return walk_back(graph, output, wanted, {}, true);
}

}  // namespace neon
