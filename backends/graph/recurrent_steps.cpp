#include "backends/graph/recurrent_steps.h"

#include <algorithm>
#include <numeric>

#include "backends/elementwise/kernels.h"
#include "backends/graph/ops.h"

namespace neon {

CellSteps::CellSteps(Graph& graph, int64_t count, bool reverse, Value lengths)
    : graph_(graph), count_(count), reverse_(reverse), lengths_(lengths) {}

std::vector<int64_t> CellSteps::forward() const {
  std::vector<int64_t> out(static_cast<size_t>(count_));
  std::iota(out.begin(), out.end(), 0);
  if (reverse_) std::ranges::reverse(out);
  return out;
}

std::vector<int64_t> CellSteps::backward() const {
  std::vector<int64_t> out = forward();
  std::ranges::reverse(out);
  return out;
}

std::vector<Expr> CellSteps::of(Value x) const {
  const Shape shape = graph_.shape(x);
  const DType arithmetic = compute_type(graph_.dtype(x));
  const std::vector<int64_t> sizes(size_t(count_), 1);
  std::vector<Expr> out;
  for (const Value step : graph_.add_all("split", {x}, {{"axis", int64_t(1)}, {"sizes", sizes}}))
    out.push_back(cast(Expr(graph_, reshape(graph_, step, {shape[0], shape[2]})), arithmetic));
  return out;
}

Value CellSteps::joined(const std::vector<Expr>& steps, DType dtype) const {
  std::vector<Value> parts;
  for (const Expr& step : steps) {
    const Shape& shape = step.shape();
    parts.push_back(reshape(cast(step, dtype), {shape[0], 1, shape[1]}));
  }
  return parts.size() == 1 ? parts[0] : graph_.add(ops::concat, parts, {{"axis", int64_t(1)}});
}

Expr CellSteps::kept(int64_t t, Expr fresh, Expr old) const {
  if (!lengths_) return fresh;
  const Expr lengths(graph_, cast(graph_, lengths_, fresh.dtype()));
  const Expr inside = apply("greater", reshape(lengths, {fresh.shape()[0], 1}), lengths.constant(double(t)));
  return apply("select", inside, fresh, old);
}

Value CellSteps::before(Value states, Value first) const {
  const Shape shape = graph_.shape(states);
  const Value begin = reshape(graph_, first, {shape[0], 1, shape[2]});
  if (count_ == 1) return begin;
  const Value others = graph_.add(ops::slice, {states},
                                  {{"axis", int64_t(1)}, {"first", int64_t(reverse_ ? 1 : 0)}, {"count", count_ - 1}});
  const std::vector<Value> parts = reverse_ ? std::vector{others, begin} : std::vector{begin, others};
  return graph_.add(ops::concat, parts, {{"axis", int64_t(1)}});
}

Expr product_of_steps(Expr a, Value b, bool transpose_b) {
  Graph& graph = a.graph();
  Attributes attributes = {{"transpose_a", int64_t(0)}, {"transpose_b", int64_t(transpose_b)}};
  if (size_of(graph.dtype(b)) == 2) attributes = attributes.with(kWide, int64_t(1));
  return {graph, graph.add(ops::matmul, {cast(a, graph.dtype(b)), b}, attributes)};
}

std::vector<Expr> parts_of(Expr x, int64_t count) {
  const std::vector<int64_t> sizes(size_t(count), x.shape()[1] / count);
  std::vector<Expr> out;
  for (const Value part : x.graph().add_all("split", {x}, {{"axis", int64_t(1)}, {"sizes", sizes}}))
    out.push_back({x.graph(), part});
  return out;
}

Expr side_by_side(const std::vector<Expr>& parts) {
  return {parts[0].graph(), parts[0].graph().add(ops::concat, {parts.begin(), parts.end()}, {{"axis", int64_t(1)}})};
}

Value summed_products(Graph& graph, Value a, Value b) {
  const auto rows = [&](Value x) {
    const Shape& shape = graph.shape(x);
    return reshape(graph, x, {shape[0] * shape[1], shape[2]});
  };
  return matmul(graph, rows(a), rows(b), true, false);
}

bool derives_from_result(std::string_view name) {
  const elementwise::Row* row = elementwise::find_row(name);
  if (!row || row->arity != 1 || !row->derivatives[0]) return false;
  return derivative_inputs(*row, 0).find_first_of("abc") == std::string::npos;
}

namespace {

Expr derivative(const std::string& name, Expr g, Expr y) {
  std::vector<Value> operands;
  for (const char operand : derivative_inputs(elementwise::row(name), 0)) operands.push_back(operand == 'g' ? g : y);
  return {g.graph(), g.graph().add(name + "'0", operands)};
}

}  // namespace

RowCell::RowCell(const Attributes& attributes)
    : Cell(attributes.integer("reverse") != 0),
      activation_(attributes.string("activation")),
      gate_(attributes.string("gate")) {}

Expr RowCell::activation_gradient(Expr g, Expr y) const { return derivative(activation_, g, y); }
Expr RowCell::gate_gradient(Expr g, Expr y) const { return derivative(gate_, g, y); }

CellSizes check_cell(const InferContext& c, int64_t gates, bool has_c, const char* name) {
  const TensorType &z = c.inputs[0], &w = c.inputs[1], &h = c.inputs[2];
  const size_t given = has_c ? 4 : 3;
  if (z.shape.rank() != 3 || w.shape.rank() != 2 || z.shape[1] < 1 ||
      w.shape != Shape{gates * w.shape[1], w.shape[1]} || z.shape[2] != w.shape[0] ||
      h.shape != Shape{z.shape[0], w.shape[1]})
    fail(ErrorKind::config, name, " takes z (N,T,", gates, "H) of at least one step, w (", gates,
         "H,H) and a state (N,H), got ", z, ", ", w, " and ", h);
  if (!is_floating(z.dtype) || w.dtype != z.dtype || h.dtype != z.dtype)
    fail(ErrorKind::config, name, " takes arrays of one floating type, got ", z, ", ", w, " and ", h);
  if (has_c && c.inputs[3] != TensorType{compute_type(z.dtype), h.shape})
    fail(ErrorKind::config, name, " takes the state c as ", TensorType{compute_type(z.dtype), h.shape}, ", got ",
         c.inputs[3]);
  if (c.inputs.size() > given && c.inputs[given] != TensorType{DType::i32, {z.shape[0]}})
    fail(ErrorKind::config, name, " takes the lengths of ", z.shape[0], " sequences as i32, got ", c.inputs[given]);
  for (const char* function : {"activation", "gate"})
    if (const std::string row = c.attributes.string(function); !derives_from_result(row))
      fail(ErrorKind::config, name, ": the derivative of ", function, " '", row, "' does not follow from its result");
  return {z.shape[0], z.shape[1], w.shape[1]};
}

Attributes attributes_of(const CellRows& cell) {
  return {{"activation", cell.activation}, {"gate", cell.gate}, {"reverse", int64_t(cell.reverse)}};
}

}  // namespace neon
