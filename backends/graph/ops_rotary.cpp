// rotary(x (N,T,H,D) [, first (N) i32]) -> y: pairs of numbers of each head turned by the step's position; attention.h
// says by how much. The gradient turns back. Angles are in the type of the arithmetic.
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
  const TensorType wanted{DType::i32, {shape[0]}};
  if (c.inputs.size() > 1 && c.inputs[1] != wanted)
    fail(ErrorKind::config, "rotary positions take first positions of ", wanted, ", got ", c.inputs[1]);
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
  Expr position = numbers({1, shape[1], 1, 1}, 1);
  if (node.inputs.size() > 1)
    position = position + reshape(cast(Expr(graph, node.inputs[1]), arithmetic), {shape[0], 1, 1, 1});
  const Expr angle = position * exp(numbers({1, 1, 1, pairs}, 3) * slope);
  const Expr c = apply("cos", angle), s = apply("sin", angle) * node.attributes.real("sign");
  const Expr a = part(0), b = part(pairs);
  const Expr first = cast(a * c - b * s, dtype), second = cast(b * c + a * s, dtype);
  return {graph.add(ops::concat, {first, second}, {{"axis", int64_t(3)}})};
}

Value turned_by(Graph& graph, Value x, Value first, double base, double sign) {
  std::vector<Value> inputs = {x};
  if (first) inputs.push_back(first);
  return graph.add("rotary", inputs, {{"base", base}, {"sign", sign}});
}

void rotary_gradient(GradientContext& c) {
  const Value first = c.node.inputs.size() > 1 ? c.input(1) : Value{};
  c.results[0] =
      turned_by(c.graph, c.cotangent(), first, c.node.attributes.real("base"), -c.node.attributes.real("sign"));
}

const OpRegistration rotary_op({"rotary", infer_rotary, rotary_gradient, define_rotary, {}, flops_along});

}  // namespace

Value rotary(Graph& graph, Value x, Value first, double base) { return turned_by(graph, x, first, base, 1); }

}  // namespace neon
