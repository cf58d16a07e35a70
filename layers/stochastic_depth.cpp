// StochasticDepth (Huang et al. 2016): while training, a branch beside a SkipNode is left out for some samples, whole.
// As in the paper and in Dropout, an evaluation multiplies by the share that stayed; with --caffe, training divides by
// that share instead. New draws every step, keyed by seed, step, layer and sample.
#include "layers/layer.h"

namespace neon {

namespace {

struct StochasticDepthParams {
  double keep = 0.8;
  static void describe(auto&& p) {
    p("keep", &StochasticDepthParams::keep,
      "Share of samples that stay: in training all numbers of the others are set to 0, in the evaluation all samples "
      "are multiplied by this. With --caffe, training divides the samples that stay by it, and the evaluation changes "
      "nothing.",
      open_closed(0, 1));
  }
};

struct StochasticDepth : Parametrized<Layer, StochasticDepthParams> {
  using Parametrized::Parametrized;
  WayOfZeros way_of_zeros() const override { return WayOfZeros::kept; }
  Expr forward(LayerContext& context, Expr x) const override {
    if (params.keep == 1) return x;
    if (!context.training) return context.caffe ? x : x * params.keep;
    Shape one = x.shape();
    for (int axis = 1; axis < one.rank(); ++axis) one = one.with(axis, 1);
    const Expr draw = draw_for_samples(context, one, context.layer + "/kept");
    Expr kept = cast(apply("less", draw, draw.constant(params.keep)), x.dtype());
    if (context.caffe) kept = kept * (1 / params.keep);
    return x * kept;
  }
};
NEON_REGISTER(Layer, StochasticDepth,
              "Sets whole samples to zero at random during training: the last layer of a residual block's branch.",
              {"DropPath"});

}  // namespace

}  // namespace neon
