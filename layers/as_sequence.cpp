// Images and features as sequences. The steps lie along one axis; the numbers of a step keep their order, channels
// last.
#include "layers/layer.h"

namespace neon {

namespace {

struct AsSequenceParams {
  std::string along = "width";
  int64_t steps = 0;
  static void describe(auto&& p) {
    p("along", &AsSequenceParams::along,
      "Axis of an image (C,H,W) that becomes the time: with height, each row of pixels is a step; with width, each "
      "column, as in neon 1.x.",
      one_of({"height", "width"}));
    p("steps", &AsSequenceParams::steps,
      "Number of steps that features are cut into; not for images. 0: features (T,F) have T steps.", at_least(0));
  }
};

struct AsSequence : Parametrized<Layer, AsSequenceParams> {
  using Parametrized::Parametrized;
  WayOfZeros way_of_zeros() const override { return WayOfZeros::moved; }
  Expr forward(LayerContext& context, Expr x) const override {
    if (context.is_sequence(x)) fail(ErrorKind::config, "AsSequence: its input is a sequence already; leave it out");
    const Shape shape = x.shape();
    if (shape.rank() == 4) return marked(context, of_image(context, x));
    if (shape.rank() == 3 && params.steps == 0) return marked(context, x);
    const int64_t features = shape.slice(1, shape.rank()).elements();
    if (params.steps == 0)
      fail(ErrorKind::config, "AsSequence makes steps of images (C,H,W), or of features with `steps`; its input is ",
           context.sample_shape(x), "; give steps: T to cut the ", features, " features into T steps");
    if (features % params.steps)
      fail(ErrorKind::config, "AsSequence: ", features, " features do not go into ", params.steps, " steps evenly");
    return marked(context, reshape(x, {shape[0], params.steps, features / params.steps}));
  }

 private:
  // x (N,H,W,C)
  Expr of_image(LayerContext& context, Expr x) const {
    if (params.steps > 0)
      fail(ErrorKind::config, "AsSequence: of an image the axis `along` gives the number of steps; leave `steps` out");
    if (params.along == "width") x = context.expr(transpose(context.graph, x, {0, 2, 1, 3}));
    const Shape& shape = x.shape();
    return reshape(x, {shape[0], shape[1], shape[2] * shape[3]});
  }

  // A value of its own: the same numbers in the same shape may be no sequence to another layer.
  Expr marked(LayerContext& context, Expr x) const {
    const std::vector<int64_t> sizes(x.shape().begin(), x.shape().end());
    const Expr y = context.expr(context.graph.add("reshape", {x}, {{"shape", sizes}, {"sequence", int64_t(1)}}));
    context.mark_sequence(y);
    return y;
  }
};
NEON_REGISTER(Layer, AsSequence, "Images or features as sequences (T,F) for recurrent layers; no number changes.");

}  // namespace

}  // namespace neon
