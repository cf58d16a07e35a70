// sign_product: see sign_product.h. A device can multiply signs as bits: equal ones give 1, others -1.
#include "backends/graph/expression.h"
#include "backends/graph/flops.h"
#include "backends/graph/ops.h"
#include "backends/graph/sign_product.h"

namespace neon {

namespace {

std::vector<TensorType> infer_sign_product(const InferContext& c) {
  const TensorType &a = c.inputs[0], &b = c.inputs[1];
  if (a.shape.rank() != 2 || b.shape.rank() != 2 || a.shape[1] != b.shape[1])
    fail(ErrorKind::config, "signs are multiplied of two matrices with rows of one length, got shapes ", a.shape,
         " and ", b.shape);
  if (a.dtype != b.dtype || !is_floating(a.dtype))
    fail(ErrorKind::config, "signs are multiplied of two arrays of one floating type, got ", a.dtype, " and ", b.dtype);
  return {{a.dtype, {a.shape[0], b.shape[0]}}};
}

Expr sign(Graph& graph, Value x) { return apply("sign_ste", Expr(graph, x)); }

std::vector<Value> define_sign_product(Graph& graph, const Node& node) {
  return {matmul(graph, sign(graph, node.inputs[0]), sign(graph, node.inputs[1]), false, true)};
}

// The signs of the other operand, summed with the cotangent; 0 where the operand is beyond 1.
void sign_product_gradient(GradientContext& c) {
  const Value a = c.input(0), b = c.input(1), g = cast(Expr(c.graph, c.cotangent()), c.graph.dtype(a));
  const auto within = [&](Value x, Value by_sign) { return c.graph.add("sign_ste'0", {by_sign, x}); };
  if (c.wanted[0]) c.results[0] = within(a, matmul(c.graph, g, sign(c.graph, b)));
  if (c.wanted[1]) c.results[1] = within(b, matmul(c.graph, g, sign(c.graph, a), true));
}

double flops_of_sign_product(const Graph& graph, const Node& node) {
  return flops_of_products(flops_along(graph, node), double(graph.shape(node.inputs[0])[1]));
}

const OpRegistration sign_product_op({.name = ops::sign_product,
                                      .infer = infer_sign_product,
                                      .gradient = sign_product_gradient,
                                      .define = define_sign_product,
                                      .flops = flops_of_sign_product});

}  // namespace

Value sign_product(Graph& graph, Value a, Value b) { return graph.add(ops::sign_product, {a, b}); }

}  // namespace neon
