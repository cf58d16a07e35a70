// The gated recurrent unit over the steps of sequences, and its gradient:
//   gru(z (N,T,3H), w (3H,H), h0 (N,H) [, lengths]) -> h (N,T,H), gates (N,T,3H)
//   gru_grad(gates, h, w, h0, g [, lengths]) -> dz (N,T,3H), dh0
// gates are r, u, n of each step.
#include "backends/graph/ops.h"
#include "backends/graph/recurrent_steps.h"

namespace neon {

namespace {

struct GruSteps {
  Value states, gates;
};

// Rows of w (3H,H): those of both gates, and those of the candidate.
struct GruWeights {
  GruWeights(Graph& graph, Value w) {
    const int64_t units = graph.shape(w)[1];
    const std::vector<Value> parts =
        graph.add_all("split", {w}, {{"axis", int64_t(0)}, {"sizes", std::vector<int64_t>{2 * units, units}}});
    gates = parts[0], candidate = parts[1];
  }
  Value gates, candidate;
};

GruSteps all_gru_steps(Graph& graph, const Cell& cell, Value z, Value w, Value h0, Value lengths) {
  const CellSteps steps(graph, graph.shape(z)[1], cell.reverse, lengths);
  const GruWeights weights(graph, w);
  const DType dtype = graph.dtype(z), arithmetic = compute_type(dtype);
  std::vector<Expr> inputs = steps.of(z), hs(inputs.size()), gates(inputs.size());
  Expr h = cast(Expr(graph, h0), arithmetic);
  for (const int64_t t : steps.forward()) {
    const std::vector<Expr> in = parts_of(inputs[size_t(t)], 3),
                            of_state = parts_of(product_of_steps(h, weights.gates, true), 2);
    const Expr r = cell.gate(in[0] + of_state[0]), u = cell.gate(in[1] + of_state[1]);
    const Expr n = cell.activation(in[2] + product_of_steps(r * h, weights.candidate, true));
    const Expr fresh = (1.0 - u) * h + u * n;
    h = hs[size_t(t)] = cast(cast(steps.kept(t, fresh, h), dtype), arithmetic);
    gates[size_t(t)] = side_by_side({r, u, n});
  }
  return {steps.joined(hs, dtype), steps.joined(gates, dtype)};
}

Value gru_lengths(const Node& node, size_t given) { return node.inputs.size() > given ? node.inputs[given] : Value{}; }

std::vector<TensorType> infer_gru(const InferContext& c) {
  const CellSizes s = check_cell(c, 3, false, "gru");
  return {{c.inputs[0].dtype, {s.samples, s.steps, s.units}}, c.inputs[0]};
}

std::vector<Value> define_gru(Graph& graph, const Node& node) {
  const auto [states, gates] = all_gru_steps(graph, RowCell(node.attributes), node.inputs[0], node.inputs[1],
                                             node.inputs[2], gru_lengths(node, 3));
  return {states, gates};
}

void gru_gradient(GradientContext& c) {
  NEON_ASSERT(!c.cotangent(1));
  Graph& graph = c.graph;
  const Value h = c.output(), gates = c.output(1), w = c.input(1), h0 = c.input(2), lengths = gru_lengths(c.node, 3);
  std::vector<Value> inputs = {gates, h, w, h0, c.cotangent()};
  if (lengths) inputs.push_back(lengths);
  const std::vector<Value> results = graph.add_all(ops::gru_grad, inputs, c.node.attributes);
  c.results[0] = results[0];
  c.results[2] = results[1];
  if (!c.wanted[1]) return;
  const int64_t units = graph.shape(w)[1];
  const CellSteps steps(graph, graph.shape(h)[1], RowCell(c.node.attributes).reverse, lengths);
  const Value before = steps.before(h, h0);
  const auto part = [&](Value x, int64_t first, int64_t count) {
    return graph.add(ops::slice, {x}, {{"axis", int64_t(2)}, {"first", first}, {"count", count}});
  };
  const Expr reset = Expr(graph, part(gates, 0, units)) * Expr(graph, before);
  c.results[1] = graph.add(ops::concat,
                           {summed_products(graph, part(results[0], 0, 2 * units), before),
                            summed_products(graph, part(results[0], 2 * units, units), reset)},
                           {{"axis", int64_t(0)}});
}

std::vector<TensorType> infer_gru_grad(const InferContext& c) {
  const TensorType &gates = c.inputs[0], &h = c.inputs[1];
  return {gates, {h.dtype, {h.shape[0], h.shape[2]}}};
}

std::vector<Value> define_gru_grad(Graph& graph, const Node& node) {
  const RowCell cell(node.attributes);
  const Value w = node.inputs[2];
  const DType dtype = graph.dtype(w);
  const CellSteps steps(graph, graph.shape(node.inputs[0])[1], cell.reverse, gru_lengths(node, 5));
  const GruWeights weights(graph, w);
  const std::vector<Expr> gates = steps.of(node.inputs[0]),
                          before = steps.of(steps.before(node.inputs[1], node.inputs[3])), g = steps.of(node.inputs[4]);
  std::vector<Expr> dz(gates.size());
  Expr passed;  // what the state of a step is given by the step that took it
  for (const int64_t step : steps.backward()) {
    const auto t = size_t(step);
    const std::vector<Expr> parts = parts_of(gates[t], 3);
    const Expr &r = parts[0], &u = parts[1], &n = parts[2], h = before[t];
    const Expr dh = passed.value() ? g[t] + passed : g[t];
    const Expr dn = cell.activation_gradient(dh * u, n);
    const Expr of_reset = product_of_steps(dn, weights.candidate, false);
    const Expr of_gates = side_by_side({cell.gate_gradient(of_reset * h, r), cell.gate_gradient(dh * (n - h), u)});
    const Expr inner = side_by_side({of_gates, dn});
    dz[t] = steps.kept(step, inner, inner.constant(0));
    const Expr fresh = dh * (1.0 - u) + of_reset * r + product_of_steps(of_gates, weights.gates, false);
    passed = steps.kept(step, fresh, dh);
  }
  return {steps.joined(dz, dtype), cast(passed, dtype)};
}

const OpRegistration gru_ops[] = {
    OpRegistration({ops::gru, infer_gru, gru_gradient, define_gru, {}, flops_of_cell<1>}),
    OpRegistration({ops::gru_grad, infer_gru_grad, nullptr, define_gru_grad, {}, flops_of_cell<2>}),
};

}  // namespace

CellStates gru_steps(Graph& graph, const Cell& cell, Value z, Value w, CellState begin, Value lengths) {
  return {all_gru_steps(graph, cell, z, w, begin.h, lengths).states, {}};
}

CellStates gru(Graph& graph, const CellRows& cell, Value z, Value w, CellState begin, Value lengths) {
  std::vector<Value> inputs = {z, w, begin.h};
  if (lengths) inputs.push_back(lengths);
  return {graph.add_all(ops::gru, inputs, attributes_of(cell))[0], {}};
}

}  // namespace neon
