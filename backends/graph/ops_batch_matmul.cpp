// batch_matmul: a (B,M,K) · b (B,K,N) -> (B,M,N), a product for each of B. Either operand may be stored with its last
// two axes exchanged, and the result be `wide`, as matmul's. Its definition is a product and sum along rows, in the
// type of the arithmetic.
#include "backends/graph/expression.h"
#include "backends/graph/flops.h"
#include "backends/graph/ops.h"

namespace neon {

namespace {

std::vector<TensorType> infer_batch_matmul(const InferContext& c) {
  const TensorType &a = c.inputs[0], &b = c.inputs[1];
  const bool ta = c.attributes.integer("transpose_a"), tb = c.attributes.integer("transpose_b");
  if (a.shape.rank() != 3 || b.shape.rank() != 3 || a.shape[0] != b.shape[0])
    fail(ErrorKind::config, "batch_matmul takes as many matrices on either side, got shapes ", a.shape, " and ",
         b.shape);
  if (a.shape[ta ? 1 : 2] != b.shape[tb ? 2 : 1])
    fail(ErrorKind::config, "batch_matmul of ", a.shape, ta ? " transposed" : "", " and ", b.shape,
         tb ? " transposed" : "", ": inner sizes ", a.shape[ta ? 1 : 2], " and ", b.shape[tb ? 2 : 1], " differ");
  if (a.dtype != b.dtype || !is_floating(a.dtype))
    fail(ErrorKind::config, "batch_matmul takes two arrays of one floating type, got ", a.dtype, " and ", b.dtype);
  return {{product_type(a.dtype, c.attributes), {a.shape[0], a.shape[ta ? 2 : 1], b.shape[tb ? 1 : 2]}}};
}

Value product(Graph& graph, Value a, Value b, bool transpose_a, bool transpose_b) {
  return graph.add(ops::batch_matmul, {a, b},
                   {{"transpose_a", int64_t(transpose_a)}, {"transpose_b", int64_t(transpose_b)}});
}

void batch_matmul_gradient(GradientContext& c) {
  const bool ta = c.node.attributes.integer("transpose_a"), tb = c.node.attributes.integer("transpose_b");
  const Value a = c.input(0), b = c.input(1), g = cast(Expr(c.graph, c.cotangent()), c.graph.dtype(a));
  if (c.wanted[0]) c.results[0] = ta ? product(c.graph, b, g, tb, true) : product(c.graph, g, b, false, !tb);
  if (c.wanted[1]) c.results[1] = tb ? product(c.graph, g, a, true, ta) : product(c.graph, a, g, !ta, false);
}

std::vector<Value> define_batch_matmul(Graph& graph, const Node& node) {
  const auto rows = [&](Value x, bool exchanged) {
    return Expr(graph, exchanged ? transpose(graph, x, {0, 2, 1}) : x);
  };
  const Expr a = rows(node.inputs[0], node.attributes.integer("transpose_a")),
             b = rows(node.inputs[1], !node.attributes.integer("transpose_b"));
  const int64_t batch = a.shape()[0], m = a.shape()[1], n = b.shape()[1], k = a.shape()[2];
  const DType type = compute_type(a.dtype());
  const Expr each = cast(reshape(a, {batch, m, 1, k}), type) * cast(reshape(b, {batch, 1, n, k}), type);
  return {cast(reshape(sum(each, {3}), {batch, m, n}), product_type(a.dtype(), node.attributes))};
}

double flops_of_batch_matmul(const Graph& graph, const Node& node) {
  const int inner = node.attributes.integer("transpose_a") ? 1 : 2;
  return flops_of_products(flops_along(graph, node), double(graph.shape(node.inputs[0])[inner]));
}

const OpRegistration batch_matmul_op({ops::batch_matmul,
                                      infer_batch_matmul,
                                      batch_matmul_gradient,
                                      define_batch_matmul,
                                      {.product = ProductKind::stacks},
                                      flops_of_batch_matmul});

}  // namespace

}  // namespace neon
