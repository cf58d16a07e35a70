// Batch normalisation (Ioffe and Szegedy 2015, Algorithm 1) over `axes` of x, statistics over the batch:
//   batch_norm(x, gamma, beta) -> y, mean, variance, rest     y = gamma (x - mean) / sqrt(variance + epsilon) + beta
//   batch_norm_grad(x, gamma, mean, variance, rest, g) -> dx, dgamma, dbeta
// The variance is the population's. gamma, beta and the statistics have the shape of x with size 1 at `axes`.
//
// The exact mean is mean + rest, and is what y is made with. In f32 a mean of 5000 is rounded by up to 2e-4: without
// the rest all normalised numbers would be off by that in one direction, and sums of them would grow the error. The
// statistics feed running ones only: no gradient flows through them.
#include "backends/graph/batch_norm.h"
#include "backends/graph/flops.h"
#include "backends/graph/ops.h"
#include "backends/graph/statistics.h"

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
  return {c.inputs[0], statistic, statistic, statistic};
}

Expr inverse_deviation(Expr variance, const Node& node) {
  return apply("rsqrt", variance + node.attributes.real("epsilon"));
}

std::vector<Value> define_batch_norm(Graph& graph, const Node& node) {
  Expr x(graph, node.inputs[0]), gamma(graph, node.inputs[1]), beta(graph, node.inputs[2]);
  const auto [average, variance, rest] = statistics(x, gamma.shape(), node.attributes.integers("axes"));
  Expr factor = inverse_deviation(variance, node) * gamma;
  return {(x - average) * factor + (beta - rest * factor), average, variance, rest};
}

void batch_norm_gradient(GradientContext& c) {
  NEON_ASSERT(!c.cotangent(1) && !c.cotangent(2) && !c.cotangent(3));
  if (!c.cotangent(0)) return;
  auto results = c.graph.add_all(ops::batch_norm_grad,
                                 {c.input(0), c.input(1), c.output(1), c.output(2), c.output(3), c.cotangent()},
                                 c.node.attributes);
  for (size_t i = 0; i < 3; ++i) c.results[i] = results[i];
}

std::vector<TensorType> infer_batch_norm_grad(const InferContext& c) {
  const TensorType statistic = reduced(c);
  return {c.inputs[0], statistic, statistic};
}

// With n = near - shift, the normalised x, the shift is taken off what there is one of for each statistic:
//   dgamma = sum g n = sum(g near) - shift sum g
//   dx = gamma scale (g - (sum g + n dgamma) / count)
struct GradientSums {
  GradientSums(Graph& graph, const Node& node)
      : average(graph, node.inputs[2]),
        g(graph, node.inputs[5]),
        scale(inverse_deviation({graph, node.inputs[3]}, node)) {
    const Expr x(graph, node.inputs[0]);
    const auto& axes = node.attributes.integers("axes");
    for (int64_t axis : axes) count *= double(x.shape()[int(axis)]);
    near = (x - average) * scale, shift = Expr(graph, node.inputs[4]) * scale;
    dbeta = sum(g, axes), dgamma = sum(g * near, axes) - shift * dbeta;
    gain = Expr(graph, node.inputs[1]) * scale;
  }
  double count = 1;
  Expr average, g, scale, near, shift, dbeta, dgamma, gain;
};

std::vector<Value> define_batch_norm_grad(Graph& graph, const Node& node) {
  const GradientSums s(graph, node);
  Expr dx = s.gain * (s.g - ((s.dbeta - s.shift * s.dgamma) + s.near * s.dgamma) * (1.0 / s.count));
  return {dx, s.dgamma, s.dbeta};
}

const OpRegistration batch_norm_ops[] = {
    OpRegistration({ops::batch_norm, infer_batch_norm, batch_norm_gradient, define_batch_norm, {}, flops_along}),
    OpRegistration({ops::batch_norm_grad, infer_batch_norm_grad, nullptr, define_batch_norm_grad, {}, flops_along}),
};

}  // namespace

BatchNormGradient apart(Graph& graph, const Node& node) {
  const GradientSums s(graph, node);
  const Expr part = s.gain * (1.0 / s.count);
  return {s.gain, s.g, part * (s.dbeta - s.shift * s.dgamma), part * s.dgamma * s.scale, s.average, s.dgamma, s.dbeta};
}

}  // namespace neon
