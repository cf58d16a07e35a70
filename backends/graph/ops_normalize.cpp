// Normalisation of each sample by its own statistics, over `axes` of x, as layer norm (Ba et al. 2016), group norm (Wu
// and He 2018) and RMS norm (Zhang and Sennrich 2019) have it:
//   normalize(x) -> y, mean, rest, scale      y = (x - mean) scale, scale = 1 / sqrt(variance + epsilon)
//   normalize_grad(x, mean, rest, scale, g) -> dx
//   rms_normalize(x) -> y, scale              y = x scale, scale = 1 / sqrt(mean(x^2) + epsilon)
//   rms_normalize_grad(x, scale, g) -> dx
// The variance is the population's. Statistics have the shape of x with size 1 at `axes`.
//
// The exact mean is mean + rest, as in batch norm: in f32 a mean of 5000 is rounded by up to 2e-4. No gradient flows
// through the statistics.
#include <utility>

#include "backends/graph/expression.h"
#include "backends/graph/flops.h"
#include "backends/graph/ops.h"

namespace neon {

namespace {

TensorType of_statistic(const InferContext& c) {
  const TensorType& x = c.inputs[0];
  std::vector<int64_t> sizes(x.shape.begin(), x.shape.end());
  for (int64_t axis : c.attributes.integers("axes")) sizes[size_t(axis)] = 1;
  return {x.dtype, Shape(sizes)};
}

std::vector<TensorType> infer_normalize(const InferContext& c) {
  const TensorType statistic = of_statistic(c);
  return {c.inputs[0], statistic, statistic, statistic};
}

std::vector<TensorType> infer_rms_normalize(const InferContext& c) { return {c.inputs[0], of_statistic(c)}; }

std::vector<TensorType> same_as_x(const InferContext& c) { return {c.inputs[0]}; }

// The mean over `axes`, one run of neighbouring axes after the other: fused kernels reduce no others.
Expr mean_over(Expr x, const std::vector<int64_t>& axes) {
  std::vector<int64_t> run;
  for (const int64_t axis : axes) {
    if (!run.empty() && axis != run.back() + 1) x = mean(x, std::exchange(run, {}));
    run.push_back(axis);
  }
  return mean(x, run);
}

Expr scale_of(Expr squares, const Node& node) {
  return apply("rsqrt", mean_over(squares, node.attributes.integers("axes")) + node.attributes.real("epsilon"));
}

std::vector<Value> define_normalize(Graph& graph, const Node& node) {
  const Expr x(graph, node.inputs[0]);
  const auto& axes = node.attributes.integers("axes");
  const Expr average = mean_over(x, axes);
  const Expr near = x - average;
  const Expr rest = mean_over(near, axes);
  const Expr distance = near - rest;
  const Expr scale = scale_of(square(distance), node);
  return {distance * scale, average, rest, scale};
}

void normalize_gradient(GradientContext& c) {
  NEON_ASSERT(!c.cotangent(1) && !c.cotangent(2) && !c.cotangent(3));
  if (!c.cotangent()) return;
  c.results[0] = c.graph.add("normalize_grad", {c.input(0), c.output(1), c.output(2), c.output(3), c.cotangent()},
                             c.node.attributes);
}

std::vector<Value> define_normalize_grad(Graph& graph, const Node& node) {
  const Expr x(graph, node.inputs[0]), average(graph, node.inputs[1]), rest(graph, node.inputs[2]),
      scale(graph, node.inputs[3]), g(graph, node.inputs[4]);
  const auto& axes = node.attributes.integers("axes");
  const Expr y = ((x - average) - rest) * scale;
  return {(g - mean_over(g, axes) - y * mean_over(g * y, axes)) * scale};
}

std::vector<Value> define_rms_normalize(Graph& graph, const Node& node) {
  const Expr x(graph, node.inputs[0]);
  const Expr scale = scale_of(square(x), node);
  return {x * scale, scale};
}

void rms_normalize_gradient(GradientContext& c) {
  NEON_ASSERT(!c.cotangent(1));
  if (!c.cotangent()) return;
  c.results[0] = c.graph.add("rms_normalize_grad", {c.input(0), c.output(1), c.cotangent()}, c.node.attributes);
}

std::vector<Value> define_rms_normalize_grad(Graph& graph, const Node& node) {
  const Expr x(graph, node.inputs[0]), scale(graph, node.inputs[1]), g(graph, node.inputs[2]);
  const Expr y = x * scale;
  return {(g - y * mean_over(g * y, node.attributes.integers("axes"))) * scale};
}

const OpRegistration normalize_ops[] = {
    OpRegistration({"normalize", infer_normalize, normalize_gradient, define_normalize, {}, flops_along}),
    OpRegistration({"normalize_grad", same_as_x, nullptr, define_normalize_grad, {}, flops_along}),
    OpRegistration(
        {"rms_normalize", infer_rms_normalize, rms_normalize_gradient, define_rms_normalize, {}, flops_along}),
    OpRegistration({"rms_normalize_grad", same_as_x, nullptr, define_rms_normalize_grad, {}, flops_along}),
};

}  // namespace

}  // namespace neon
