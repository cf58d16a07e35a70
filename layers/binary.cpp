// Layers of binary weights (Courbariaux et al. 2016): products of signs, trained through real weights. The gradient
// passes a sign where its input is within [-1, 1] and is 0 elsewhere.
#include "backends/graph/sign_product.h"
#include "layers/default_init.h"
#include "layers/linear.h"
#include "layers/signs.h"

namespace neon {

namespace {

// sign(x) (N,C) · sign(W)^T (C,K) -> (N,K); W (K,C) real.
Expr binary_product(LayerContext& context, Expr given, int64_t nout, const Initializer& init, bool binary_input) {
  Expr x = as_rows(as_steps(context, given));
  const int64_t nin = x.shape()[1];
  const std::string& name = context.layer;
  const Expr weight = context.parameter({.name = name + "/W",
                                         .layer = name,
                                         .layer_class = "BinaryLinear",
                                         .shape = {nout, nin},
                                         .initializer = &init,
                                         .fan = {.in = nin, .out = nout, .rows = nout, .columns = nin}});
  if (binary_input && !is_dropped(context, given))
    return in_sequence(context, {context.graph, sign_product(context.graph, x, weight)}, given);
  if (binary_input) x = signs_of(context, given, x);
  const Value y = matmul(context.graph, x, apply("sign_ste", weight), false, true);
  return in_sequence(context, {context.graph, y}, given);
}

struct BinaryLinearParams {
  OutputCount nout;
  Made<Initializer> init;
  bool binary_input = true;
  static void describe(auto&& p) {
    p("nout", &BinaryLinearParams::nout, "Number of outputs of a sample; classes: as many as the data set has classes.",
      at_least(1), Required{});
    p("init", &BinaryLinearParams::init, "Initializer of the real weights. Default: {Uniform: {low: -1, high: 1}}.",
      Alias{"weight_init"});
    p("binary_input", &BinaryLinearParams::binary_input,
      "Takes the signs of the inputs, but 0 for those that a Dropout before has left out; false, for a first layer, "
      "takes the inputs as they are.");
  }
};

struct BinaryLinear : Parametrized<Layer, BinaryLinearParams> {
  explicit BinaryLinear(BinaryLinearParams given) : Parametrized(std::move(given)) {
    params.init = init_or_default(params.init, WeightUse::signs);
  }
  Expr forward(LayerContext& context, Expr x) const override {
    return binary_product(context, x, params.nout.of(context), *params.init, params.binary_input);
  }
  bool takes_channels_first() const override { return true; }
};
NEON_REGISTER(Layer, BinaryLinear,
              "A matrix product of the signs of inputs and weights; a checkpoint holds the real weights W (nout, nin). "
              "param_clip_value: 1 keeps these where gradients pass.");

struct BinaryAffineParams : BinaryLinearParams {
  Made<Initializer> bias;
  BatchNormChoice batch_norm;
  Made<Activation> activation;
  static void describe(auto&& p) {
    BinaryLinearParams::describe(p);
    p("bias", &BinaryAffineParams::bias,
      "Initializer of the biases, as in bias: {Constant: 0}. Without it the layer has no bias.");
    p("batch_norm", &BinaryAffineParams::batch_norm,
      "Normalises each output over the batch before the activation. Its own shift replaces the bias.");
    p("activation", &BinaryAffineParams::activation,
      "Activation of the result, as in activation: Sign. Without it the result stays linear.");
  }
};

struct BinaryAffine : Parametrized<Layer, BinaryAffineParams> {
  explicit BinaryAffine(BinaryAffineParams given) : Parametrized(std::move(given)) {
    params.init = init_or_default(params.init, WeightUse::signs);
    if (params.bias && params.batch_norm)
      fail(ErrorKind::config, "bias and batch_norm are both given; batch norm has a shift of its own, leave bias out");
  }
  Expr forward(LayerContext& context, Expr x) const override {
    x = binary_product(context, x, params.nout.of(context), *params.init, params.binary_input);
    if (params.batch_norm) x = batch_norm(context, x, params.batch_norm, context.layer + "_bnorm");
    if (params.bias) x = bias(context, x, *params.bias, context.layer + "_bias");
    return activate(context, x, params.activation);
  }
  bool takes_channels_first() const override { return true; }
};
NEON_REGISTER(
    Layer, BinaryAffine,
    "BinaryLinear with bias or batch norm and an activation. This batch norm is exact; the layer ShiftBatchNorm rounds "
    "its factors to powers of two.");

}  // namespace

}  // namespace neon
