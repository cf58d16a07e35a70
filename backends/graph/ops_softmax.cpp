// Compound ops over the last axis of x (N,...,C), each with its definition in other ops:
//   softmax(x) -> y                                     exp(x - max) / sum
//   softmax_grad(y, g) -> dx                            y (g - sum(g y))
//   log_softmax(x) -> y                                 x - max - log sum exp(x - max)
//   log_softmax_grad(y, g) -> dx                        g - exp(y) sum(g)
//   softmax_cross_entropy(x, t) -> cost (N,...,1)       sum(t) log sum exp(x) - sum(t x)
//   softmax_cross_entropy_grad(x, t, g) -> dx           g (softmax(x) sum(t) - t)
#include "backends/graph/expression.h"
#include "backends/graph/flops.h"
#include "backends/graph/ops.h"

namespace neon {

namespace {

std::vector<int64_t> last_axis(const Graph& graph, Value x) { return {graph.shape(x).rank() - 1}; }

std::vector<TensorType> same_as_first(const InferContext& c) {
  if (c.inputs[0].shape.rank() < 1) fail(ErrorKind::config, "softmax takes at least one axis, got ", c.inputs[0]);
  return {c.inputs[0]};
}

std::vector<Value> define_softmax(Graph& graph, const Node& node) {
  Expr x(graph, node.inputs[0]);
  const auto axis = last_axis(graph, x);
  Expr e = exp(x - max(x, axis));
  return {e / sum(e, axis)};
}
void softmax_gradient(GradientContext& c) { c.results[0] = c.graph.add("softmax_grad", {c.output(), c.cotangent()}); }

std::vector<Value> define_softmax_grad(Graph& graph, const Node& node) {
  Expr y(graph, node.inputs[0]), g(graph, node.inputs[1]);
  return {y * (g - sum(g * y, last_axis(graph, y)))};
}

Expr log_of_sum(Expr shifted, const std::vector<int64_t>& axis) { return log(sum(exp(shifted), axis)); }

std::vector<Value> define_log_softmax(Graph& graph, const Node& node) {
  Expr x(graph, node.inputs[0]);
  const auto axis = last_axis(graph, x);
  Expr shifted = x - max(x, axis);
  return {shifted - log_of_sum(shifted, axis)};
}
void log_softmax_gradient(GradientContext& c) {
  c.results[0] = c.graph.add("log_softmax_grad", {c.output(), c.cotangent()});
}

std::vector<Value> define_log_softmax_grad(Graph& graph, const Node& node) {
  Expr y(graph, node.inputs[0]), g(graph, node.inputs[1]);
  return {g - exp(y) * sum(g, last_axis(graph, y))};
}

std::vector<TensorType> infer_cross_entropy(const InferContext& c) {
  const TensorType &x = c.inputs[0], &t = c.inputs[1];
  if (x.shape != t.shape || x.shape.rank() < 1)
    fail(ErrorKind::config, "the cost compares outputs ", x.shape, " with targets ", t.shape, ": shapes differ");
  return {{x.dtype, x.shape.with(x.shape.rank() - 1, 1)}};
}

std::vector<Value> define_cross_entropy(Graph& graph, const Node& node) {
  Expr x(graph, node.inputs[0]), t(graph, node.inputs[1]);
  const auto axis = last_axis(graph, x);
  Expr shifted = x - max(x, axis);
  return {sum(t, axis) * log_of_sum(shifted, axis) - sum(t * shifted, axis)};
}
void cross_entropy_gradient(GradientContext& c) {
  if (c.wanted[0]) c.results[0] = c.graph.add("softmax_cross_entropy_grad", {c.input(0), c.input(1), c.cotangent()});
  if (c.wanted[1]) {  // the target's: -log softmax(x)
    Expr x(c.graph, c.input(0)), g(c.graph, c.cotangent());
    const auto axis = last_axis(c.graph, x);
    Expr shifted = x - max(x, axis);
    c.results[1] = g * (log_of_sum(shifted, axis) - shifted);
  }
}

std::vector<Value> define_cross_entropy_grad(Graph& graph, const Node& node) {
  Expr x(graph, node.inputs[0]), t(graph, node.inputs[1]), g(graph, node.inputs[2]);
  const auto axis = last_axis(graph, x);
  Expr e = exp(x - max(x, axis));
  return {g * (e * (sum(t, axis) / sum(e, axis)) - t)};
}

const OpRegistration softmax_ops[] = {
    OpRegistration({ops::softmax, same_as_first, softmax_gradient, define_softmax, {}, flops_along}),
    OpRegistration({"softmax_grad", same_as_first, nullptr, define_softmax_grad, {}, flops_along}),
    OpRegistration({ops::log_softmax, same_as_first, log_softmax_gradient, define_log_softmax, {}, flops_along}),
    OpRegistration({"log_softmax_grad", same_as_first, nullptr, define_log_softmax_grad, {}, flops_along}),
    OpRegistration({ops::softmax_cross_entropy,
                    infer_cross_entropy,
                    cross_entropy_gradient,
                    define_cross_entropy,
                    {},
                    flops_along}),
    OpRegistration({"softmax_cross_entropy_grad", same_as_first, nullptr, define_cross_entropy_grad, {}, flops_along}),
};

}  // namespace

}  // namespace neon
