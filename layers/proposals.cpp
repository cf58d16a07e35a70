// Proposals of Faster R-CNN (Ren et al. 2015): regions of an image that may show an object, for RoiPooling. They come
// of anchors, boxes of several shapes and sizes about each place of a feature map, moved by offsets, of which those
// with the highest scores are taken.
//
// In training, where the objects are known, scores and offsets learn from them, and some of the regions are drawn, with
// which the rest of the net is trained (layers/proposed_samples.h).
//
//   Proposals: {inputs: [scores, offsets], stride: 16}
#include <array>
#include <cmath>

#include "layers/images.h"
#include "layers/proposed_samples.h"
#include "transforms/image_batch.h"

namespace neon {

namespace {

struct ProposalsParams : SamplingParams {
  std::vector<double> ratios = {0.5, 1, 2}, scales = {8, 16, 32};
  int64_t stride = 16;
  std::vector<int64_t> candidates = {12000, 6000}, most = {2000, 300};
  double overlap = 0.7, least_size = 16;
  static void describe(auto&& p) {
    p("ratios", &ProposalsParams::ratios, "Heights of the anchors divided by their widths.", above(0));
    p("scales", &ProposalsParams::scales, "Sizes of the anchors, in strides.", above(0));
    p("stride", &ProposalsParams::stride, "Pixels of the image from one place of the feature map to the next.",
      closed(1, 1024), Unit{"pixels"});
    p("candidates", &ProposalsParams::candidates,
      "Highest scores that are looked at, in training and in an evaluation; a lone number is for both.",
      closed(1, 1e6));
    p("most", &ProposalsParams::most,
      "Regions of an image, in training and in an evaluation. If there are fewer, the last ones are 0, 0, 0, 0.",
      closed(1, 1e5));
    p("overlap", &ProposalsParams::overlap,
      "Regions that overlap a better one by more than this (intersection over union) are left out.", closed(0, 1));
    p("least_size", &ProposalsParams::least_size, "Regions that are less high or wide are left out.", at_least(0),
      Unit{"pixels"});
    SamplingParams::describe(p);
  }
};

struct Proposals : Parametrized<Layer, ProposalsParams> {
  explicit Proposals(ProposalsParams given) : Parametrized(std::move(given)) {
    for (auto* numbers : {&params.candidates, &params.most}) {
      if (numbers->size() == 1) numbers->push_back(numbers->front());
      if (numbers->size() != 2)
        fail(ErrorKind::config, numbers == &params.most ? "most" : "candidates", ": ", Shape(*numbers),
             " should be one number, or two: in training and in an evaluation");
    }
    if (params.ratios.empty() || params.scales.empty())
      fail(ErrorKind::config, "ratios and scales have a number each at least");
    if (const auto& two = params.anchor_overlap; two.size() != 2 || two[0] < two[1])
      fail(ErrorKind::config,
           "anchor_overlap: two numbers, from which on an anchor shows an object, and below which it ",
           "shows the background, as in [0.7, 0.3]");
  }
  int most_inputs() const override { return 2; }
  Expr forward(LayerContext& context, Expr x) const override { return forward_all(context, {x}); }

  // Scores (N,H,W,A), or (N,H,W,2A) of the background and of an object, offsets (N,H,W,4A) -> (N,R,4), x1, y1, x2, y2
  // in pixels.
  Expr forward_all(LayerContext& context, const std::vector<Expr>& inputs) const override {
    const std::vector<std::array<double, 2>> shapes = anchor_shapes();
    const auto count = int64_t(shapes.size());
    check(context, inputs, count);
    Graph& graph = context.graph;
    const Expr scores = cast(inputs[0], context.arithmetic_dtype);
    const Shape map = scores.shape();
    const int64_t samples = map[0], anchors = map[1] * map[2] * count;
    const Expr given = map[3] == count ? scores : part(scores, 3, count, count) - part(scores, 3, 0, count);
    const Expr moves = reshape(cast(inputs[1], context.arithmetic_dtype), {samples, anchors, 4});
    const Expr score = apply("stop_gradient", given), offsets = apply("stop_gradient", moves);
    // In pixels, each from its first to the one behind its last.
    const std::array<double, 2> pitch = {double(params.stride), double(params.stride)};
    const Expr places = boxes_of_places(context.graph, map, pitch, shapes, context.arithmetic_dtype);
    const bool learns = context.training && context.target_boxes;
    if (learns && params.anchor_cost > 0)
      context.penalties.push_back(cost_of_anchors(context, params, reshape(given, {samples, anchors}), moves, places));
    const BoxCorners moved = decoded(corners_of(places), offsets, 1, 1);
    const auto cut = [](Expr x, int64_t size) { return minimum(maximum(x, 0), double(size - 1)); };
    const int64_t height = context.image.height, width = context.image.width;
    const BoxCorners box{cut(moved.x1, width), cut(moved.y1, height), cut(moved.x2, width), cut(moved.y2, height)};
    const auto large = [&](Expr first, Expr last) {
      const Expr size = last - first + 1.0;
      return apply("greater_equal", size, size.constant(params.least_size));
    };
    // A share is above 0, and so above what is left out.
    const Expr share =
        reshape(apply("logistic", score), {samples, anchors, 1}) * large(box.x1, box.x2) * large(box.y1, box.y2);
    const Expr boxes = beside({box.x1, box.y1, box.x2, box.y2}, 2);
    const size_t which = context.training ? 0 : 1;
    const Value chosen = suppressed(graph, boxes, reshape(share, {samples, 1, anchors}),
                                    {params.overlap, params.most[which], params.candidates[which], 0, true});
    Expr regions = rows_at(boxes, reshape(Expr(graph, chosen), {samples, params.most[which]}));
    if (learns && params.regions > 0) regions = sampled_regions(context, params, regions);
    context.set_axes(regions, {Axis::sample, Axis::feature, Axis::feature});
    return regions;
  }

 private:
  void check(const LayerContext& context, const std::vector<Expr>& inputs, int64_t count) const {
    if (inputs.size() != 2)
      fail(ErrorKind::config, "Proposals takes two inputs, scores and offsets, and has ", inputs.size(),
           "; give it `inputs: [NAME, NAME]`");
    if (context.image.height == 0) fail(ErrorKind::config, "Proposals are of images, and the data set has none");
    const auto fits = [&](Expr x, int64_t maps) {
      return x.shape().rank() == 4 && x.shape()[3] == maps && x.shape().slice(0, 3) == inputs[0].shape().slice(0, 3);
    };
    if ((!fits(inputs[0], count) && !fits(inputs[0], 2 * count)) || !fits(inputs[1], 4 * count))
      fail(ErrorKind::config, "Proposals of ", count, " anchors a place takes scores (", count, ", H, W) or (",
           2 * count, ", H, W) and offsets (", 4 * count, ", H, W), got ", context.sample_shape(inputs[0]), " and ",
           context.sample_shape(inputs[1]));
  }

  // Heights and widths: those of a square of a stride in each ratio, in whole pixels, times the scales.
  std::vector<std::array<double, 2>> anchor_shapes() const {
    std::vector<std::array<double, 2>> out;
    const auto stride = double(params.stride);
    for (const double ratio : params.ratios) {
      const double width = std::nearbyint(std::sqrt(stride * stride / ratio)), height = std::nearbyint(width * ratio);
      for (const double scale : params.scales) out.push_back({height * scale, width * scale});
    }
    return out;
  }
};
NEON_REGISTER(Layer, Proposals,
              "Proposes regions of an image for RoiPooling, as Faster R-CNN does (Ren et al. 2015): anchors moved by "
              "offsets and cut at the border, without those that overlap a better one.");

}  // namespace

}  // namespace neon
