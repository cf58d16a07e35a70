// scale_gradient(x) -> x: the same numbers, whose gradient is multiplied by `factor` on its way back. It is defined as
// x itself, so nothing is left of it in a program. stop_gradient(x) -> x: no gradient flows through.
#include "backends/graph/expression.h"
#include "backends/graph/op.h"

namespace neon {

namespace {

std::vector<TensorType> infer_same(const InferContext& c) { return {c.inputs[0]}; }

std::vector<Value> define_scale_gradient(Graph&, const Node& node) { return {node.inputs[0]}; }

void scale_gradient_gradient(GradientContext& c) {
  c.results[0] = Expr(c.graph, c.cotangent()) * c.node.attributes.real("factor");
}

const OpRegistration scale_gradient_ops[] = {
    OpRegistration({"scale_gradient", infer_same, scale_gradient_gradient, define_scale_gradient}),
    OpRegistration({"stop_gradient", infer_same, nullptr, define_scale_gradient})};

}  // namespace

}  // namespace neon
