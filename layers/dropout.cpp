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
      context.keep_axes(x, mask);
      return noted(context, x, masked(x, mask, context.caffe), mask);
    }
    const std::vector<Expr> draws = draws_for_features(context, x, stream);
    size_t number = 0;
    const Expr mask = of_each_part(context, x, [&](Expr part) { return mask_of(part, draws[number++]); });
    return noted(context, x,
                 of_both_parts(context, x, mask, [&](Expr part, Expr own) { return masked(part, own, context.caffe); }),
                 mask);
  }
  bool takes_split() const override { return true; }

 private:
  // y, of which the mask, and a Dropout before, have left numbers out.
  Expr noted(LayerContext& context, Expr x, Expr y, Expr mask) const {
    LayerContext::Dropped now{params.keep, mask, context.layer};
    if (const auto before = context.dropped.find(x); before != context.dropped.end()) {
      const LayerContext::Dropped& then = before->second;
      now.keep *= then.keep, now.by = then.by;
      if (now.by.empty()) {
        const Expr other = context.split.has(mask) ? then.mask : own_samples(context, then.mask);
        now.mask = of_both_parts(context, mask, other, [](Expr a, Expr b) { return a * reshape(b, a.shape()); });
        context.keep_axes(mask, now.mask);
      }
    }
    context.dropped.insert_or_assign(y, now);
    return y;
  }
  Expr mask_of(Expr x, Expr draw) const { return cast(apply("less", draw, draw.constant(params.keep)), x.dtype()); }
  Expr masked(Expr x, Expr mask, bool caffe) const { return x * (caffe ? mask * (1 / params.keep) : mask); }
};
NEON_REGISTER(Layer, Dropout, "Sets inputs to zero at random during training.", {"DropOutLayer"});

}  // namespace

}  // namespace neon
