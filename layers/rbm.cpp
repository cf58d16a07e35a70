#include "layers/rbm.h"

namespace neon {

RBMArrays::RBMArrays(LayerContext& context, const RBMParams& params, const std::string& name, int64_t inputs)
    : binary_(params.visible == "binary") {
  const int64_t outputs = params.nout;
  const auto array = [&](const char* part, const char* of_class, const Shape& shape, const Initializer& init) {
    const std::string layer = name + part;
    return context.parameter({.name = layer + (shape.rank() == 2 ? "/W" : "/b"),
                              .layer = layer,
                              .layer_class = of_class,
                              .shape = shape,
                              .initializer = &init,
                              .fan = {.in = shape.rank() == 2 ? inputs : 1,
                                      .out = shape[0],
                                      .rows = shape[0],
                                      .columns = shape.rank() == 2 ? inputs : 1}});
  };
  weights_ = array("", "Linear", {outputs, inputs}, *params.init);
  hidden_bias_ = array("_bias", "Bias", {outputs}, *params.bias);
  visible_bias_ = array("_visible", "Bias", {inputs}, *params.visible_bias);
}

Expr RBMArrays::inputs_of_hidden(Expr v) const {
  return Expr(v.graph(), matmul(v.graph(), v, weights_, false, true)) + hidden_bias_;
}

Expr RBMArrays::visible(Expr h) const {
  const Expr x = Expr(h.graph(), matmul(h.graph(), h, weights_)) + visible_bias_;
  return binary_ ? apply("logistic", x) : x;
}

Expr RBMArrays::free_energy(Expr v) const {
  const Expr hidden = sum(apply("softplus", inputs_of_hidden(v)), {1});
  const Expr visible = binary_ ? -sum(v * visible_bias_, {1}) : 0.5 * sum(square(v - visible_bias_), {1});
  return visible - hidden;
}

Expr RBM::forward(LayerContext& context, Expr x) const {
  const Expr v = as_rows(x);
  return RBMArrays(context, params, context.layer, v.shape()[1]).hidden(v);
}

namespace {

NEON_REGISTER(Layer, RBM,
              "Restricted Boltzmann machine: probabilities of its hidden units, logistic(x W^T + b). The rule "
              "ContrastiveDivergence trains the last layer of a net where that is an RBM. A checkpoint holds W "
              "(nout, nin), the biases of the hidden units and those of the visible units.",
              {"RBMLayer"});

}  // namespace

}  // namespace neon
