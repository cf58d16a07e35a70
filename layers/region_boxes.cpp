// RegionBoxes, the end of Faster R-CNN (Ren et al. 2015): each region of an image gets a score for every class and for
// the background, and four offsets from which its box follows.
//
//   RegionBoxes: {inputs: [pooled, regions]}
#include "layers/convolution.h"
#include "layers/default_init.h"
#include "layers/linear.h"
#include "layers/proposed_samples.h"

namespace neon {

namespace {

struct RegionBoxesParams : DetectionParams {
  Made<Initializer> init, bias;
  static void describe(auto&& p) {
    p("init", &RegionBoxesParams::init, kProductInitSentence);
    p("bias", &RegionBoxesParams::bias, "Initializer of the biases. Default: Constant 0.");
    DetectionParams::describe(p);
  }
};

struct RegionBoxes : Parametrized<Layer, RegionBoxesParams> {
  explicit RegionBoxes(RegionBoxesParams given) : Parametrized(std::move(given)) {
    params.init = init_or_default(params.init, WeightUse::product);
    if (!params.bias) params.bias = Made<Initializer>("Constant");
  }
  int most_inputs() const override { return 2; }
  bool has_own_library() const override { return true; }
  Expr forward(LayerContext& context, Expr x) const override { return forward_all(context, {x}); }

  // Maps (N,R,P,Q,C) of regions (N,R,4) -> (N,R,K+5): scores of K classes and the background, and offsets.
  Expr forward_all(LayerContext& context, const std::vector<Expr>& inputs) const override {
    check(context, inputs);
    const Shape maps = inputs[0].shape();
    const int64_t classes = context.classes + 1;
    ConvolutionParams filters;
    filters.fshape.list = {1, maps[2], maps[3]}, filters.nofm = classes + 4, filters.init = params.init;
    const Expr found = neon::bias(context, convolution(context, inputs[0], filters, context.layer), *params.bias,
                                  context.layer + "_bias");
    const Expr y = reshape(found, {maps[0], maps[1], classes + 4}), wide = cast(y, context.arithmetic_dtype);
    const BoxCorners box = shares_of(context, cast(inputs[1], context.arithmetic_dtype));
    PredictedBoxes out;
    out.y = y;
    out.outputs = {part(wide, 2, 0, classes), part(wide, 2, classes, 4), beside({box.x1, box.y1, box.x2, box.y2}, 2)};
    out.chosen = params;
    context.boxes = out;
    context.set_axes(y, {Axis::sample, Axis::feature, Axis::feature});
    return y;
  }

 private:
  void check(const LayerContext& context, const std::vector<Expr>& inputs) const {
    if (context.classes == 0 || context.image.height == 0)
      fail(ErrorKind::config, "RegionBoxes finds objects in images, and the data set has no ",
           context.image.height ? "classes" : "images");
    if (inputs.size() != 2)
      fail(ErrorKind::config, "RegionBoxes takes two inputs, what RoiPooling made and the regions, and has ",
           inputs.size(), "; give it `inputs: [NAME, NAME]`");
    const Shape maps = inputs[0].shape(), regions = inputs[1].shape();
    if (maps.rank() != 5 || regions != Shape{maps[0], maps[1], 4})
      fail(ErrorKind::config, "RegionBoxes takes feature maps (C, R, P, Q) of R regions and their corners (R, 4), got ",
           context.sample_shape(inputs[0]), " and ", context.sample_shape(inputs[1]));
  }
};
NEON_REGISTER(Layer, RegionBoxes,
              "Predicts the classes and boxes of regions, as Faster R-CNN does (Ren et al. 2015); the last layer, "
              "behind Proposals and RoiPooling, for cost: MBox. A checkpoint holds W (K+5,1,P,Q,C).");

}  // namespace

}  // namespace neon
