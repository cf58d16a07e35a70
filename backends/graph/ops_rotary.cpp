// rotary(x (N,T,H,D)) -> y: pairs of numbers of each head turned by the step's position; attention.h says by how much.
// The gradient turns back. Angles are in the type of the arithmetic.
#include <cmath>

#include "backends/graph/attention.h"
#include "backends/graph/flops.h"
#include "backends/graph/ops.h"

namespace neon {

namespace {

std::vector<TensorType> infer_rotary(const InferContext& c) {
  const Shape& shape = c.inputs[0].shape;
  if (shape.rank() != 4 || shape[3] % 2 || !is_floating(c.inputs[0].dtype))
    fail(ErrorKind::config, "rotary positions take heads (N,T,H,D) of an even size D of a floating type, got ",
         c.inputs[0]);
  return {c.inputs[0]};
}

std::vector<Value> define_rotary(Graph& graph, const Node& node) {
  const Shape shape = graph.shape(node.inputs[0]);
  const int64_t pairs = shape[3] / 2;
  const DType dtype = graph.dtype(node.inputs[0]), arithmetic = compute_type(dtype);
  const auto part = [&](int64_t first) {
    const Attributes half = {{"axis", int64_t(3)}, {"first", first}, {"count", pairs}};
    return cast(Expr(graph, graph.add(ops::slice, {node.inputs[0]}, half)), arithmetic);
  };
  const auto numbers = [&](const Shape& along, int axis) {
    return cast(Expr(graph, iota(graph, along, axis)), arithmetic);
  };
  const double slope = -std::log(node.attributes.real("base")) / double(pairs);
  const Expr angle = numbers({1, shape[1], 1, 1}, 1) * exp(numbers({1, 1, 1, pairs}, 3) * slope);
  const Expr c = apply("cos", angle), s = apply("sin", angle) * node.attributes.real("sign");
  const Expr a = part(0), b = part(pairs);
  const Expr first = cast(a * c - b * s, dtype), second = cast(b * c + a * s, dtype);
  return {graph.add(ops::concat, {first, second}, {{"axis", int64_t(3)}})};
}

Value turned_by(Graph& graph, Value x, double base, double sign) {
  return graph.add("rotary", {x}, {{"base", base}, {"sign", sign}});
}

void rotary_gradient(GradientContext& c) {
  c.results[0] = turned_by(c.graph, c.cotangent(), c.node.attributes.real("base"), -c.node.attributes.real("sign"));
}

const OpRegistration rotary_op({"rotary", infer_rotary, rotary_gradient, define_rotary, {}, flops_along});

}  // namespace

Value rotary(Graph& graph, Value x, double base) { return turned_by(graph, x, base, 1); }

}  // namespace neon
