// Batch normalisation (Ioffe and Szegedy 2015, Algorithm 1) over `axes` of x, statistics over the batch:
//   batch_norm(x, gamma, beta) -> y, mean, variance       y = gamma (x - mean) / sqrt(variance + epsilon) + beta
//   batch_norm_grad(x, gamma, mean, variance, g) -> dx, dgamma, dbeta
// The variance is the population's. gamma, beta, mean and variance have the shape of x with size 1 at `axes`.
// mean and variance feed running statistics only: no gradient flows through them.
#include "backends/graph/expression.h"
#include "backends/graph/op.h"

namespace neon {

namespace {

TensorType reduced(const InferContext& c) {
  std::vector<int64_t> sizes(c.inputs[0].shape.begin(), c.inputs[0].shape.end());
  for (int64_t axis : c.attributes.integers("axes")) sizes[size_t(axis)] = 1;
  return {c.inputs[0].dtype, Shape(sizes)};
}

std::vector<TensorType> infer_batch_norm(const InferContext& c) {
  const TensorType statistic = reduced(c);
  for (int i : {1, 2})
    if (c.inputs[size_t(i)] != statistic)
      fail(ErrorKind::config, "batch norm of ", c.inputs[0], " takes gamma and beta of ", statistic, ", got ",
           c.inputs[size_t(i)]);
  return {c.inputs[0], statistic, statistic};
}

Expr inverse_deviation(Expr variance, const Node& node) {
  return apply("rsqrt", variance + node.attributes.real("epsilon"));
}

std::vector<Value> define_batch_norm(Graph& graph, const Node& node) {
  Expr x(graph, node.inputs[0]), gamma(graph, node.inputs[1]), beta(graph, node.inputs[2]);
  const auto& axes = node.attributes.integers("axes");
  Expr average = mean(x, axes);
  Expr centred = x - average;
  Expr variance = mean(square(centred), axes);
  return {centred * (inverse_deviation(variance, node) * gamma) + beta, average, variance};
}

void batch_norm_gradient(GradientContext& c) {
  NEON_ASSERT(!c.cotangent(1) && !c.cotangent(2));
  if (!c.cotangent(0)) return;
  auto results = c.graph.add_all("batch_norm_grad", {c.input(0), c.input(1), c.output(1), c.output(2), c.cotangent()},
                                 c.node.attributes);
  for (size_t i = 0; i < 3; ++i) c.results[i] = results[i];
}

std::vector<TensorType> infer_batch_norm_grad(const InferContext& c) {
  const TensorType statistic = reduced(c);
  return {c.inputs[0], statistic, statistic};
}

std::vector<Value> define_batch_norm_grad(Graph& graph, const Node& node) {
  Expr x(graph, node.inputs[0]), gamma(graph, node.inputs[1]), average(graph, node.inputs[2]),
      variance(graph, node.inputs[3]), g(graph, node.inputs[4]);
  const auto& axes = node.attributes.integers("axes");
  double count = 1;
  for (int64_t axis : axes) count *= double(x.shape()[int(axis)]);
  Expr scale = inverse_deviation(variance, node);
  Expr normal = (x - average) * scale;
  Expr dbeta = sum(g, axes), dgamma = sum(g * normal, axes);
  Expr dx = (gamma * scale) * (g - (dbeta + normal * dgamma) * (1.0 / count));
  return {dx, dgamma, dbeta};
}

const OpRegistration batch_norm_ops[] = {
    OpRegistration({"batch_norm", infer_batch_norm, batch_norm_gradient, define_batch_norm}),
    OpRegistration({"batch_norm_grad", infer_batch_norm_grad, nullptr, define_batch_norm_grad}),
};

}  // namespace

}  // namespace neon
