// Dropout (Srivastava et al. 2014): each input is kept with probability `keep`. As in neon, training multiplies by
// the mask of 0 and 1 and inference by keep; with --caffe training also divides by keep and inference changes
// nothing. A new mask every step, keyed by seed, step, layer and element.
#include "layers/layer.h"

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
    if (!context.training) return context.caffe ? x : x * params.keep;
    const Expr draw = draw_for_samples(context, x.shape(), context.layer + "/mask");
    Expr mask = cast(apply("less", draw, draw.constant(params.keep)), x.dtype());
    if (context.caffe) mask = mask * (1 / params.keep);
    return x * mask;
  }
};
NEON_REGISTER(Layer, Dropout, "Sets inputs to zero at random during training.", {"DropOutLayer"});

}  // namespace

}  // namespace neon
