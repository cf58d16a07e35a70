// Dropout (Srivastava et al. 2014): each input is kept with probability `keep`. As in neon, training multiplies by
// the mask of 0 and 1 and inference by keep; with --caffe training also divides by keep and inference changes
// nothing. A new mask every step, keyed by seed, step, layer and element.
#include "layers/split_linear.h"

namespace neon {

namespace {

struct DropoutParams {
  double keep = 0.5;
  static void describe(auto&& p) {
    p("keep", &DropoutParams::keep,
      "Share of inputs that stay: in training the others are set to 0, in the evaluation all are multiplied by this. "
      "With --caffe, training divides the inputs that stay by it, and the evaluation changes nothing.",
      open_closed(0, 1));
  }
};

struct Dropout : Parametrized<Layer, DropoutParams> {
  using Parametrized::Parametrized;
  Expr forward(LayerContext& context, Expr x) const override {
    if (params.keep == 1) return x;
    if (!context.training) return context.caffe ? x : as_split(context, x, x * params.keep);
    const std::string stream = context.layer + "/mask";
    Expr draw;
    if (context.split.has(x)) draw = draw_for_features(context, x, stream);
    if (!draw.value()) x = context.split.own_samples(x), draw = draw_for_samples(context, x.shape(), stream);
    Expr mask = cast(apply("less", draw, draw.constant(params.keep)), x.dtype());
    if (context.caffe) mask = mask * (1 / params.keep);
    return as_split(context, x, x * mask);
  }
  bool takes_split() const override { return true; }
};
NEON_REGISTER(Layer, Dropout, "Sets inputs to zero at random during training.", {"DropOutLayer"});

}  // namespace

}  // namespace neon
