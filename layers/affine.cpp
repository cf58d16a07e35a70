// Affine: Linear, then BatchNorm or Bias, then an activation. neon 1.0 took both bias and batch_norm; later versions
// refused that, as here: batch norm's shift is a bias.
#include "layers/default_init.h"
#include "layers/linear.h"

namespace neon {

namespace {

struct AffineParams : PartNames {
  OutputCount nout;
  Made<Initializer> init;
  Made<Initializer> bias;
  BatchNormChoice batch_norm;
  Made<Activation> activation;
  bool transpose = false;
  std::string linear_name;
  static void describe(auto&& p) {
    p("nout", &AffineParams::nout, "Number of outputs of a sample; classes: as many as the data set has classes.",
      at_least(1), Required{});
    p("init", &AffineParams::init, kInitSentence, Alias{"weight_init"});
    p("bias", &AffineParams::bias,
      "Initializer of the biases, as in bias: {Constant: 0}. Without it the layer has no bias.");
    p("batch_norm", &AffineParams::batch_norm,
      "Normalises each output over the batch before the activation. Its own shift replaces the bias.");
    p("activation", &AffineParams::activation,
      "Activation of the result, as in activation: Rectlin. Without it the result stays linear.");
    p("transpose", &AffineParams::transpose, text(kTransposeSentence, " Biases stay its own.").c_str());
    p("linear_name", &AffineParams::linear_name, "Name of the product for MultiOptimizer. Default: the layer's name.");
    PartNames::describe(p);
  }
};

struct Affine : Parametrized<Layer, AffineParams> {
  explicit Affine(AffineParams given) : Parametrized(std::move(given)) {
    if (params.bias && params.batch_norm)
      fail(ErrorKind::config, "bias and batch_norm are both given; batch norm has a shift of its own, leave bias out");
    params.init = init_before(params.activation, params.init);
  }
  Expr forward(LayerContext& context, Expr x) const override {
    context.name_part(context.layer, params.linear_name);
    params.PartNames::apply(context);
    if (params.transpose) context.sharing.share_weights_alone();
    x = linear(context, x, params.nout.of(context), *params.init, context.layer, params.transpose);
    if (params.batch_norm)
      x = batch_norm(context, own_samples(context, x), params.batch_norm, context.layer + "_bnorm");
    if (params.bias) x = bias(context, x, *params.bias, context.layer + "_bias");
    return activate(context, x, params.activation);
  }
  bool takes_channels_first() const override { return true; }
  bool takes_split() const override { return true; }
};
NEON_REGISTER(
    Layer, Affine,
    "A matrix product with bias or batch norm and an activation; a checkpoint holds W (nout, nin). The "
    "features of images are in the order (H,W,C). Each step of a sequence (T,F) is a row of features: (T,nout).",
    {"FCLayer"});

}  // namespace

}  // namespace neon
