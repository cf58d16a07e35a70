// matmul: a (M,K) · b (K,N) -> (M,N). Either operand may be stored transposed. With the attribute `wide` the result of
// 16-bit operands is f32, the sums as they are.
#include "backends/graph/expression.h"
#include "backends/graph/flops.h"
#include "backends/graph/ops.h"

namespace neon {

DType product_type(DType operands, const Attributes& attributes) {
  return attributes.has(kWide) ? compute_type(operands) : operands;
}

namespace {

std::vector<TensorType> infer_matmul(const InferContext& c) {
  const TensorType &a = c.inputs[0], &b = c.inputs[1];
  const bool ta = c.attributes.integer("transpose_a"), tb = c.attributes.integer("transpose_b");
  if (a.shape.rank() != 2 || b.shape.rank() != 2)
    fail(ErrorKind::config, "matmul takes two matrices, got shapes ", a.shape, " and ", b.shape);
  if (a.shape[ta ? 0 : 1] != b.shape[tb ? 1 : 0])
    fail(ErrorKind::config, "matmul of ", a.shape, ta ? " transposed" : "", " and ", b.shape, tb ? " transposed" : "",
         ": inner sizes ", a.shape[ta ? 0 : 1], " and ", b.shape[tb ? 1 : 0], " differ");
  if (a.dtype != b.dtype || !is_floating(a.dtype))
    fail(ErrorKind::config, "matmul takes two arrays of one floating type, got ", a.dtype, " and ", b.dtype);
  return {{product_type(a.dtype, c.attributes), {a.shape[ta ? 1 : 0], b.shape[tb ? 0 : 1]}}};
}

void matmul_gradient(GradientContext& c) {
  const bool ta = c.node.attributes.integer("transpose_a"), tb = c.node.attributes.integer("transpose_b");
  const Value a = c.input(0), b = c.input(1), g = cast(Expr(c.graph, c.cotangent()), c.graph.dtype(a));
  if (c.wanted[0]) c.results[0] = ta ? matmul(c.graph, b, g, tb, true) : matmul(c.graph, g, b, false, !tb);
  if (c.wanted[1]) c.results[1] = tb ? matmul(c.graph, g, a, true, ta) : matmul(c.graph, a, g, !ta, false);
}

double flops_of_matmul(const Graph& graph, const Node& node) {
  const int inner = node.attributes.integer("transpose_a") ? 0 : 1;
  return flops_of_products(flops_along(graph, node), double(graph.shape(node.inputs[0])[inner]));
}

const OpRegistration matmul_op({ops::matmul,
                                infer_matmul,
                                matmul_gradient,
                                nullptr,
                                {.product = ProductKind::matrices, .takes_bias = true, .takes_relu = true},
                                flops_of_matmul});

}  // namespace

}  // namespace neon
