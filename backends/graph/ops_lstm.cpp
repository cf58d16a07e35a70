// The LSTM cell over the steps of sequences, and its gradient:
//   lstm(z (N,T,4H), w (4H,H), h0 (N,H), c0 (N,H) [, lengths]) -> h (N,T,H), c (N,T,H), gates (N,T,4H)
//   lstm_grad(gates, c, w, c0, g [, gc] [, lengths]) -> dz (N,T,4H), dh0, dc0
// gates are i, f, o, g of each step. g and gc are the cotangents of h and c; "state_gradient" says that gc is there. c,
// c0, gc and dc0 are in the type of the arithmetic.
#include "backends/graph/ops.h"
#include "backends/graph/recurrent_steps.h"

namespace neon {

namespace {

struct LstmSteps {
  CellStates states;
  Value gates;
};

LstmSteps all_lstm_steps(Graph& graph, const Cell& cell, Value z, Value w, CellState begin, Value lengths) {
  const CellSteps steps(graph, graph.shape(z)[1], cell.reverse, lengths);
  const DType dtype = graph.dtype(z), arithmetic = compute_type(dtype);
  std::vector<Expr> inputs = steps.of(z), hs(inputs.size()), cs(inputs.size()), gates(inputs.size());
  Expr h = cast(Expr(graph, begin.h), arithmetic), c(graph, begin.c);
  for (const int64_t t : steps.forward()) {
    const std::vector<Expr> parts = parts_of(inputs[size_t(t)] + product_of_steps(h, w, true), 4);
    const Expr i = cell.gate(parts[0]), f = cell.gate(parts[1]), o = cell.gate(parts[2]), g = cell.activation(parts[3]);
    const Expr fresh = f * c + i * g;
    const Expr out = o * cell.activation(fresh);
    c = cs[size_t(t)] = steps.kept(t, fresh, c);
    h = hs[size_t(t)] = cast(cast(steps.kept(t, out, h), dtype), arithmetic);
    gates[size_t(t)] = side_by_side({i, f, o, g});
  }
  return {{steps.joined(hs, dtype), steps.joined(cs, arithmetic)}, steps.joined(gates, dtype)};
}

Value lstm_lengths(const Node& node) { return node.inputs.size() > 4 ? node.inputs[4] : Value{}; }

std::vector<TensorType> infer_lstm(const InferContext& c) {
  const CellSizes s = check_cell(c, 4, true, "lstm");
  const Shape states{s.samples, s.steps, s.units};
  const DType dtype = c.inputs[0].dtype;
  return {{dtype, states}, {compute_type(dtype), states}, c.inputs[0]};
}

std::vector<Value> define_lstm(Graph& graph, const Node& node) {
  const auto [states, gates] = all_lstm_steps(graph, RowCell(node.attributes), node.inputs[0], node.inputs[1],
                                              {node.inputs[2], node.inputs[3]}, lstm_lengths(node));
  return {states.h, states.c, gates};
}

void lstm_gradient(GradientContext& c) {
  NEON_ASSERT(!c.cotangent(2));
  Graph& graph = c.graph;
  const Value h = c.output(), w = c.input(1), h0 = c.input(2), lengths = lstm_lengths(c.node);
  const Value g =
      c.cotangent(0) ? c.cotangent(0) : broadcast_to(graph, graph.constant(0, graph.dtype(h)), graph.shape(h));
  std::vector<Value> inputs = {c.output(2), c.output(1), w, c.input(3), g};
  if (c.cotangent(1)) inputs.push_back(c.cotangent(1));
  if (lengths) inputs.push_back(lengths);
  const std::vector<Value> results =
      graph.add_all(ops::lstm_grad, inputs, c.node.attributes.with("state_gradient", int64_t(bool(c.cotangent(1)))));
  c.results[0] = results[0];
  c.results[2] = results[1];
  c.results[3] = results[2];
  const CellSteps steps(graph, graph.shape(h)[1], RowCell(c.node.attributes).reverse, lengths);
  if (c.wanted[1]) c.results[1] = summed_products(graph, results[0], steps.before(h, h0));
}

std::vector<TensorType> infer_lstm_grad(const InferContext& c) {
  const TensorType &gates = c.inputs[0], &states = c.inputs[1];
  const Shape state{states.shape[0], states.shape[2]};
  return {gates, {gates.dtype, state}, {states.dtype, state}};
}

std::vector<Value> define_lstm_grad(Graph& graph, const Node& node) {
  const RowCell cell(node.attributes);
  const bool states = node.attributes.integer("state_gradient");
  const size_t given = states ? 6 : 5;
  const Value w = node.inputs[2];
  const DType dtype = graph.dtype(w);
  const CellSteps steps(graph, graph.shape(node.inputs[0])[1], cell.reverse,
                        node.inputs.size() > given ? node.inputs[given] : Value{});
  const std::vector<Expr> gates = steps.of(node.inputs[0]), c = steps.of(node.inputs[1]),
                          c_before = steps.of(steps.before(node.inputs[1], node.inputs[3])),
                          g = steps.of(node.inputs[4]), gc = states ? steps.of(node.inputs[5]) : std::vector<Expr>{};
  std::vector<Expr> dz(gates.size());
  Expr dh_passed, dc_passed;  // what the states of a step are given by the step that took them
  const auto total = [](Expr own, Expr passed) { return passed.value() ? own + passed : own; };
  for (const int64_t step : steps.backward()) {
    const auto t = size_t(step);
    const std::vector<Expr> parts = parts_of(gates[t], 4);
    const Expr &i = parts[0], &f = parts[1], &o = parts[2], &candidate = parts[3];
    const Expr dh = total(g[t], dh_passed);
    const Expr y = cell.activation(c[t]);
    Expr dc = cell.activation_gradient(dh * o, y), given_c = dh.constant(0);
    if (states) given_c = gc[t];
    if (dc_passed.value()) given_c = given_c + dc_passed;
    dc = dc + given_c;
    const Expr inner = side_by_side({cell.gate_gradient(dc * candidate, i), cell.gate_gradient(dc * c_before[t], f),
                                     cell.gate_gradient(dh * y, o), cell.activation_gradient(dc * i, candidate)});
    dz[t] = steps.kept(step, inner, inner.constant(0));
    dh_passed = steps.kept(step, product_of_steps(dz[t], w, false), dh);
    const Expr old_c = given_c.shape() == dh.shape() ? given_c : Expr(graph, broadcast_to(graph, given_c, dh.shape()));
    dc_passed = steps.kept(step, dc * f, old_c);
  }
  return {steps.joined(dz, dtype), cast(dh_passed, dtype), dc_passed};
}

const OpRegistration lstm_ops[] = {
    OpRegistration({ops::lstm, infer_lstm, lstm_gradient, define_lstm, {}, flops_of_cell<1>}),
    OpRegistration({ops::lstm_grad, infer_lstm_grad, nullptr, define_lstm_grad, {}, flops_of_cell<2>}),
};

}  // namespace

CellStates lstm_steps(Graph& graph, const Cell& cell, Value z, Value w, CellState begin, Value lengths) {
  return all_lstm_steps(graph, cell, z, w, begin, lengths).states;
}

CellStates lstm(Graph& graph, const CellRows& cell, Value z, Value w, CellState begin, Value lengths) {
  std::vector<Value> inputs = {z, w, begin.h, begin.c};
  if (lengths) inputs.push_back(lengths);
  const std::vector<Value> results = graph.add_all(ops::lstm, inputs, attributes_of(cell));
  return {results[0], results[1]};
}

}  // namespace neon
