// Reductions over a set of axes, which stay with size 1: sum, max, min, argmax (first index on ties, as a
// number of the arithmetic's type: 16 bits would not hold it).
#include <algorithm>

#include "backends/graph/expression.h"
#include "backends/graph/flops.h"
#include "backends/graph/ops.h"

namespace neon {

namespace {

std::vector<TensorType> infer_reduce(const InferContext& c) {
  std::vector<int64_t> sizes(c.inputs[0].shape.begin(), c.inputs[0].shape.end());
  for (int64_t axis : c.attributes.integers("axes")) {
    if (axis < 0 || axis >= int64_t(sizes.size()))
      fail(ErrorKind::config, "axis ", axis, " to reduce is not an axis of ", c.inputs[0].shape);
    if (std::ranges::count(c.attributes.integers("axes"), axis) > 1)
      fail(ErrorKind::config, "axis ", axis, " to reduce is named twice");
    sizes[size_t(axis)] = 1;
  }
  return {{is_floating(c.inputs[0].dtype) ? c.inputs[0].dtype : DType::f32, Shape(sizes)}};
}

std::vector<TensorType> infer_argmax(const InferContext& c) {
  const TensorType kept = infer_reduce(c)[0];
  return {{compute_type(kept.dtype), kept.shape}};
}

void sum_gradient(GradientContext& c) {
  c.results[0] = broadcast_to(c.graph, c.cotangent(), c.graph.shape(c.input(0)));
}

// All elements equal to the extremum share the cotangent evenly.
void extremum_gradient(GradientContext& c) {
  Expr x(c.graph, c.input(0)), y(c.graph, c.output()), g(c.graph, c.cotangent());
  Expr hit = apply("equal", x, y);
  c.results[0] = hit * (g / sum(hit, c.node.attributes.integers("axes")));
}

double flops_of_reduction(const Graph& graph, const Node& node) {
  return double(graph.shape(node.inputs[0]).elements());
}

OpTraits folds(Reduction reduction) {
  return {.fusion = Fusion::reduction, .reduction = reduction, .exact = reduction != Reduction::sum};
}

const OpRegistration reduce_ops[] = {
    OpRegistration({ops::sum, infer_reduce, sum_gradient, nullptr, folds(Reduction::sum), flops_of_reduction}),
    OpRegistration({ops::max, infer_reduce, extremum_gradient, nullptr, folds(Reduction::max), flops_of_reduction}),
    OpRegistration({ops::min, infer_reduce, extremum_gradient, nullptr, folds(Reduction::min), flops_of_reduction}),
    OpRegistration({ops::argmax, infer_argmax, nullptr, nullptr, folds(Reduction::argmax), flops_of_reduction}),
};

}  // namespace

}  // namespace neon
