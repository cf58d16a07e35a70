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
    if (!context.training) {
      if (context.caffe) return x;
      return of_each_part(context, x, [&](Expr part) { return part * params.keep; });
    }
    const std::string stream = context.layer + "/mask";
    if (!context.split.has(x)) {
      const Expr mask = mask_of(x, draw_for_samples(context, x.shape(), stream));
      const Expr y = masked(x, mask, context.caffe);
      context.dropped.insert_or_assign(y, LayerContext::Dropped{params.keep, mask});
      return y;
    }
    std::vector<Expr> draws = draws_for_features(context, x, stream);
    size_t number = 0;
    return of_each_part(context, x,
                        [&](Expr part) { return masked(part, mask_of(part, draws[number++]), context.caffe); });
  }
  bool takes_split() const override { return true; }

 private:
  Expr mask_of(Expr x, Expr draw) const { return cast(apply("less", draw, draw.constant(params.keep)), x.dtype()); }
  Expr masked(Expr x, Expr mask, bool caffe) const { return x * (caffe ? mask * (1 / params.keep) : mask); }
};
NEON_REGISTER(Layer, Dropout, "Sets inputs to zero at random during training.", {"DropOutLayer"});

}  // namespace

}  // namespace neon
