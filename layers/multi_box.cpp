// MultiBox, the head of SSD (Liu et al. 2016): each place of several feature maps has prior boxes, and filters of 3x3
// give each prior box a score for every class and for the background, and four offsets.
//
//   MultiBox: {inputs: [fine, coarse], sizes: [0.2, 0.5, 0.9], aspect_ratios: [[2], [2, 3]]}
#include <array>
#include <cmath>

#include "layers/convolution.h"
#include "layers/default_init.h"
#include "layers/linear.h"
#include "transforms/image_batch.h"

namespace neon {

namespace {

struct MultiBoxParams : DetectionParams {
  std::vector<double> sizes;
  std::vector<std::vector<double>> aspect_ratios = {{2}};
  AxisNumbers fshape{3};
  Made<Initializer> init, bias;
  static void describe(auto&& p) {
    p("sizes", &MultiBoxParams::sizes,
      "Sizes of the prior boxes of each input, and one number more at the end, as shares of an image's shorter side. A "
      "place has a square of its size s, one of sqrt(s s') with the next size s', and boxes of other shapes.",
      open_closed(0, 2), Required{});
    p("aspect_ratios", &MultiBoxParams::aspect_ratios,
      "For each input the list of those shapes, width by height, as in [[2], [2, 3]]: a ratio r stands for 1 / r, too. "
      "One list is for all inputs.",
      above(0));
    p("fshape", &MultiBoxParams::fshape, "Size of the filters, an odd number of pixels, or [height, width].",
      at_least(1));
    p("init", &MultiBoxParams::init, kProductInitSentence);
    p("bias", &MultiBoxParams::bias, "Initializer of the biases. Default: Constant 0.");
    DetectionParams::describe(p);
  }
};

struct MultiBox : Parametrized<Layer, MultiBoxParams> {
  explicit MultiBox(MultiBoxParams given) : Parametrized(std::move(given)) {
    params.init = init_or_default(params.init, WeightUse::product);
    if (!params.bias) params.bias = Made<Initializer>("Constant");
    if (params.sizes.size() < 2)
      fail(ErrorKind::config, "sizes: a size for each input, and one more; ", params.sizes.size(), " is too few");
    for (size_t i = 0; i + 1 < params.sizes.size(); ++i)
      if (params.sizes[i] >= params.sizes[i + 1])
        fail(ErrorKind::config, "sizes: ", params.sizes[i], " and then ", params.sizes[i + 1], ": they must rise");
  }
  int most_inputs() const override { return 64; }
  bool has_own_library() const override { return true; }

  Expr forward(LayerContext& context, Expr x) const override { return forward_all(context, {x}); }

  // Maps (N,H,W,C) -> (N,P,K+5): scores of K classes and the background, and offsets.
  Expr forward_all(LayerContext& context, const std::vector<Expr>& inputs) const override {
    check(context, inputs);
    std::vector<Expr> scores, offsets, priors;
    const int64_t classes = context.classes + 1;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const std::vector<std::array<double, 2>> shapes = shapes_of(context, i);
      const auto count = int64_t(shapes.size());
      const Expr maps = filtered(context, inputs[i], i, count * (classes + 4));
      const Shape& shape = maps.shape();
      const Expr rows = reshape(maps, {shape[0], shape[1] * shape[2] * count, classes + 4});
      scores.push_back(part(rows, 2, 0, classes)), offsets.push_back(part(rows, 2, classes, 4));
      // In shares of the height and the width.
      const std::array<double, 2> pitch = {1 / double(shape[1]), 1 / double(shape[2])};
      priors.push_back(boxes_of_places(context.graph, shape, pitch, shapes, context.arithmetic_dtype));
    }
    PredictedBoxes out;
    const Expr all = beside({beside(scores, 1), beside(offsets, 1)}, 2);
    out.y = all;
    const Expr wide = cast(all, context.arithmetic_dtype);
    out.outputs = {part(wide, 2, 0, classes), part(wide, 2, classes, 4), beside(priors, 1)};
    out.chosen = params;
    context.boxes = out;
    context.set_axes(all, {Axis::sample, Axis::feature, Axis::feature});
    return all;
  }

 private:
  void check(const LayerContext& context, const std::vector<Expr>& inputs) const {
    if (context.classes == 0 || context.image.height == 0)
      fail(ErrorKind::config, "MultiBox finds objects in images, and the data set has no ",
           context.image.height ? "classes" : "images");
    for (const Expr x : inputs)
      if (x.shape().rank() != 4)
        fail(ErrorKind::config, "MultiBox takes feature maps (C, H, W), got ", context.sample_shape(x));
    if (params.sizes.size() != inputs.size() + 1)
      fail(ErrorKind::config, "sizes: ", params.sizes.size(), " numbers for ", inputs.size(), " inputs; give ",
           inputs.size() + 1, ": one for each, and one more");
    if (params.aspect_ratios.size() != 1 && params.aspect_ratios.size() != inputs.size())
      fail(ErrorKind::config, "aspect_ratios: ", params.aspect_ratios.size(), " lists for ", inputs.size(),
           " inputs; give a list for each, as [[2], [2, 3]], or one for all");
  }

  // Heights and widths of the prior boxes of a place, as shares of the image's.
  std::vector<std::array<double, 2>> shapes_of(const LayerContext& context, size_t input) const {
    const auto height = double(context.image.height), width = double(context.image.width);
    const double side = std::min(height, width), size = params.sizes[input], next = params.sizes[input + 1];
    std::vector<std::array<double, 2>> out;
    const auto add = [&](double of, double ratio) {
      out.push_back({of * side / std::sqrt(ratio) / height, of * side * std::sqrt(ratio) / width});
    };
    add(size, 1), add(std::sqrt(size * next), 1);
    const auto& ratios = params.aspect_ratios[params.aspect_ratios.size() == 1 ? 0 : input];
    for (const double ratio : ratios)
      if (ratio != 1) add(size, ratio), add(size, 1 / ratio);
    return out;
  }

  Expr filtered(LayerContext& context, Expr x, size_t input, int64_t maps) const {
    const std::string name = text(context.layer, "_", input);
    ConvolutionParams filters;
    filters.fshape = params.fshape, filters.nofm = maps, filters.init = params.init;
    filters.padding.list.clear();
    for (const int64_t size : params.fshape.of_space(2, 3, "fshape")) {
      if (size % 2 == 0) fail(ErrorKind::config, "fshape: ", size, " is even, and a filter needs a middle");
      filters.padding.list.push_back(size / 2);
    }
    return neon::bias(context, convolution(context, x, filters, name), *params.bias, name + "_bias");
  }
};
NEON_REGISTER(Layer, MultiBox,
              "Predicts the boxes of objects from feature maps of several sizes, as SSD does (Liu et al. 2016); the "
              "last layer, for cost: MBox. The filters of input I are NAME_I/W.");

}  // namespace

}  // namespace neon
