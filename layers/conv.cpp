// Conv and Deconv: the filters, then BatchNorm or Bias, then an activation.
#include "layers/convolution.h"
#include "layers/linear.h"
#include "layers/signs.h"

namespace neon {

namespace {

// Both kinds of filters, with the parts that may follow them.
template <typename Filters>
struct WithActivation : Filters, PartNames {
  Made<Initializer> bias;
  bool shared_bias = true;
  BatchNormChoice batch_norm;
  Made<Activation> activation;
  std::string conv_name;
  static void describe(auto&& p) {
    Filters::describe(p);
    p("bias", &WithActivation::bias,
      "Initializer of the biases, one for each feature map, as in bias: {Constant: 0}. Without it the layer has no "
      "bias.");
    p("shared_bias", &WithActivation::shared_bias,
      "Uses one bias for each feature map instead of one for each output of a sample.");
    p("batch_norm", &WithActivation::batch_norm, "Normalises each feature map over the batch before the activation.");
    p("activation", &WithActivation::activation,
      "Activation of the result, as in activation: Rectlin. Without it the result stays linear.");
    p("conv_name", &WithActivation::conv_name, "Name of the filters for MultiOptimizer. Default: the layer's name.");
    PartNames::describe(p);
  }
  // Throws a config error for what does not go together, and gives `init` its default.
  void complete() {
    if (bias && batch_norm)
      fail(ErrorKind::config, "bias and batch_norm are both given; batch norm has a shift of its own, leave bias out");
    if (!shared_bias && !bias)
      fail(ErrorKind::config, "shared_bias: false is about biases, and there is no bias; give bias: {Constant: 0}, or ",
           "leave shared_bias out");
    this->init = init_before(activation, this->init);
  }
  void name_parts(LayerContext& context) const {
    context.name_part(context.layer, conv_name);
    PartNames::apply(context);
  }
  Expr finish(LayerContext& context, Expr x) const {
    if (batch_norm) x = neon::batch_norm(context, x, batch_norm, context.layer + "_bnorm");
    if (bias && !shared_bias) return activate(context, bias_of_places(context, x, *bias), activation);
    // As rows of a sequence's steps, bias and activation are one kernel.
    Expr y = as_steps(context, x);
    if (bias) y = neon::bias(context, y, *bias, context.layer + "_bias");
    return in_sequence(context, activate(context, y, activation), x);
  }
};

using ConvParams = WithActivation<ConvolutionParams>;
struct Conv : Parametrized<Layer, ConvParams> {
  explicit Conv(ConvParams given) : Parametrized(std::move(given)) { params.complete(); }
  Expr forward(LayerContext& context, Expr x) const override {
    params.name_parts(context);
    return params.finish(context, convolution(context, x, params, context.layer));
  }
  bool has_own_library() const override { return true; }
  Sight sight() const override { return params.causal ? Sight::before : Sight::any; }
};
NEON_REGISTER(
    Layer, Conv,
    "Filters over images, volumes or sequences with bias or batch norm and an activation; a checkpoint holds W "
    "(K,R,S,C): maps, height, width, channels of a group; of sequences W (K,R,C).",
    {"ConvLayer", "Convolution_bias"});

struct BinaryConvParams : ConvParams {
  bool binary_input = true;
  static void describe(auto&& p) {
    ConvParams::describe(p);
    p("binary_input", &BinaryConvParams::binary_input,
      "Takes the signs of the inputs, but 0 for those that a Dropout before has left out; false, for a first layer, "
      "takes the inputs as they are.");
  }
};
struct BinaryConv : Parametrized<Layer, BinaryConvParams> {
  explicit BinaryConv(BinaryConvParams given) : Parametrized(std::move(given)) {
    params.complete();
    params.binary = true;
  }
  Expr forward(LayerContext& context, Expr x) const override {
    params.name_parts(context);
    const Expr signs = params.binary_input ? signs_of(context, x, x) : x;
    if (params.binary_input) context.keep_axes(x, signs);
    return params.finish(context, convolution(context, signs, params, context.layer));
  }
  bool has_own_library() const override { return true; }
  Sight sight() const override { return params.causal ? Sight::before : Sight::any; }
};
NEON_REGISTER(
    Layer, BinaryConv,
    "Conv of the signs of inputs and filters (Courbariaux et al. 2016); padding stays 0. The gradient passes a "
    "sign within [-1, 1]. A checkpoint holds the real filters.");

using DeconvParams = WithActivation<GroupedFilterParams>;
struct Deconv : Parametrized<Layer, DeconvParams> {
  explicit Deconv(DeconvParams given) : Parametrized(std::move(given)) { params.complete(); }
  Expr forward(LayerContext& context, Expr x) const override {
    params.name_parts(context);
    return params.finish(context, deconvolution(context, x, params, context.layer));
  }
  bool has_own_library() const override { return true; }
  Sight sight() const override { return Sight::any; }
};
NEON_REGISTER(
    Layer, Deconv,
    "A convolution backwards over images, volumes or sequences with bias or batch norm and an activation: an axis of n "
    "pixels or steps becomes (n - 1) stride - 2 padding + dilation (filter - 1) + 1. A checkpoint holds W (C,R,S,K): "
    "channels of the input, height, width, maps of a group; of sequences W (C,R,K).");

}  // namespace

}  // namespace neon
