// LayerNorm and RMSNorm: the features of a sample, of each step of a sequence or of each pixel, normalised by
// themselves. Statistics are f32 (f64 for f64).
#include "layers/sample_norm.h"

namespace neon {

namespace {

struct LayerNormParams {
  double eps = 1e-5;
  bool bias = true;
  static void describe(auto&& p) {
    p("eps", &LayerNormParams::eps, "Added to the variance, inside the root.", above(0), Alias{"epsilon"});
    p("bias", &LayerNormParams::bias, "Whether a trained shift, beta, is added.");
  }
};

struct LayerNorm : Parametrized<Layer, LayerNormParams> {
  using Parametrized::Parametrized;
  Expr forward(LayerContext& context, Expr x) const override {
    const Expr wide = cast(x, context.arithmetic_dtype);
    const Expr y = normalized_over(context, wide, {x.shape().rank() - 1}, params.eps);
    return scaled_and_shifted(context, y, params.bias, "LayerNorm");
  }
};
NEON_REGISTER(
    Layer, LayerNorm,
    "Normalises the features of each sample to mean 0 and deviation 1, then scales and shifts them by trained "
    "numbers (Ba et al. 2016). Each step of a sequence is normalised by itself, and each pixel of an image over its "
    "feature maps.");

struct RMSNormParams {
  double eps = 1e-6;
  static void describe(auto&& p) {
    p("eps", &RMSNormParams::eps, "Added to the mean of squares, inside the root.", above(0), Alias{"epsilon"});
  }
};

struct RMSNorm : Parametrized<Layer, RMSNormParams> {
  using Parametrized::Parametrized;
  Expr forward(LayerContext& context, Expr x) const override {
    const Attributes attributes = {{"axes", std::vector<int64_t>{x.shape().rank() - 1}}, {"epsilon", params.eps}};
    const Expr wide = cast(x, context.arithmetic_dtype);
    const Expr y = context.expr(context.graph.add_all("rms_normalize", {wide}, attributes)[0]);
    return scaled_and_shifted(context, y, false, "RMSNorm");
  }
};
NEON_REGISTER(
    Layer, RMSNorm,
    "Divides the features of each sample, step or pixel by the root of their mean square, then scales them by "
    "trained numbers (Zhang and Sennrich 2019).");

}  // namespace

}  // namespace neon
