// The simple recurrent cell over the steps of sequences, and its gradient:
//   recurrent(z (N,T,H), w (H,H), h0 (N,H) [, lengths]) -> h (N,T,H)
//   recurrent_grad(h, w, g [, lengths]) -> dz (N,T,H), dh0
#include "backends/graph/ops.h"
#include "backends/graph/recurrent_steps.h"

namespace neon {

CellStates recurrent_steps(Graph& graph, const Cell& cell, Value z, Value w, CellState begin, Value lengths) {
  const CellSteps steps(graph, graph.shape(z)[1], cell.reverse, lengths);
  const DType dtype = graph.dtype(z), arithmetic = compute_type(dtype);
  std::vector<Expr> inputs = steps.of(z), states(inputs.size());
  Expr h = cast(Expr(graph, begin.h), arithmetic);
  for (const int64_t t : steps.forward()) {
    const Expr fresh = cell.activation(inputs[size_t(t)] + product_of_steps(h, w, true));
    h = states[size_t(t)] = cast(cast(steps.kept(t, fresh, h), dtype), arithmetic);
  }
  return {steps.joined(states, dtype), {}};
}

namespace {

Value recurrent_lengths(const Node& node) { return node.inputs.size() > 3 ? node.inputs[3] : Value{}; }

std::vector<TensorType> infer_recurrent(const InferContext& c) {
  const CellSizes s = check_cell(c, 1, false, "recurrent");
  return {{c.inputs[0].dtype, {s.samples, s.steps, s.units}}};
}

std::vector<Value> define_recurrent(Graph& graph, const Node& node) {
  return {recurrent_steps(graph, RowCell(node.attributes), node.inputs[0], node.inputs[1], {node.inputs[2], {}},
                          recurrent_lengths(node))
              .h};
}

void recurrent_gradient(GradientContext& c) {
  const Value h = c.output(), w = c.input(1), h0 = c.input(2), lengths = recurrent_lengths(c.node);
  std::vector<Value> inputs = {h, w, c.cotangent()};
  if (lengths) inputs.push_back(lengths);
  const std::vector<Value> results = c.graph.add_all(ops::recurrent_grad, inputs, c.node.attributes);
  c.results[0] = results[0];
  c.results[2] = results[1];
  const CellSteps steps(c.graph, c.graph.shape(h)[1], RowCell(c.node.attributes).reverse, lengths);
  if (c.wanted[1]) c.results[1] = summed_products(c.graph, results[0], steps.before(h, h0));
}

std::vector<TensorType> infer_recurrent_grad(const InferContext& c) {
  const TensorType& h = c.inputs[0];
  return {h, {h.dtype, {h.shape[0], h.shape[2]}}};
}

std::vector<Value> define_recurrent_grad(Graph& graph, const Node& node) {
  const RowCell cell(node.attributes);
  const Value w = node.inputs[1];
  const DType dtype = graph.dtype(w);
  const CellSteps steps(graph, graph.shape(node.inputs[0])[1], cell.reverse, recurrent_lengths(node));
  const std::vector<Expr> h = steps.of(node.inputs[0]), g = steps.of(node.inputs[2]);
  std::vector<Expr> dz(h.size());
  Expr passed;  // what the state of a step is given by the step that took it
  for (const int64_t t : steps.backward()) {
    const Expr dh = passed.value() ? g[size_t(t)] + passed : g[size_t(t)];
    const Expr inner = cell.activation_gradient(dh, h[size_t(t)]);
    dz[size_t(t)] = steps.kept(t, inner, inner.constant(0));
    passed = steps.kept(t, product_of_steps(dz[size_t(t)], w, false), dh);
  }
  return {steps.joined(dz, dtype), cast(passed, dtype)};
}

const OpRegistration recurrent_ops[] = {
    OpRegistration({ops::recurrent, infer_recurrent, recurrent_gradient, define_recurrent, {}, flops_of_cell<1>}),
    OpRegistration({ops::recurrent_grad, infer_recurrent_grad, nullptr, define_recurrent_grad, {}, flops_of_cell<1>}),
};

}  // namespace

CellStates recurrent(Graph& graph, const CellRows& cell, Value z, Value w, CellState begin, Value lengths) {
  std::vector<Value> inputs = {z, w, begin.h};
  if (lengths) inputs.push_back(lengths);
  return {graph.add(ops::recurrent, inputs, attributes_of(cell)), {}};
}

}  // namespace neon
