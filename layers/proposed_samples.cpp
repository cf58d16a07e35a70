#include "layers/proposed_samples.h"

#include <cmath>

#include "layers/split_linear.h"
#include "neon/core/batch_share.h"

namespace neon {

namespace {

// As many of `among` (N,P), 1 or 0, as counts (N,1) says at most, drawn by the seed; again 1 or 0.
Expr drawn(LayerContext& context, Expr among, Expr counts, const std::string& stream) {
  const Expr draws = cast(draw_for_samples(context, among.shape(), context.layer + stream), among.dtype());
  return largest(apply("select", among, draws, among.constant(-HUGE_VAL)), counts);
}

struct Samples {
  Expr objects, background;  // (N,P), 1 or 0
};

// `count` of P, of which `most` show an object at most.
Samples samples_of(LayerContext& context, Expr positive, Expr negative, int64_t count, int64_t most,
                   const std::string& stream) {
  const Expr zeros = sum(positive, {1}) * 0.0;  // (N,1)
  Samples out;
  out.objects = drawn(context, positive, zeros + double(most), stream + "/objects");
  out.background = drawn(context, negative, double(count) - sum(out.objects, {1}), stream + "/background");
  return out;
}

Expr objects_of(const LayerContext& context) {
  return cast(Expr(context.graph, context.target_boxes), context.arithmetic_dtype);
}

Expr below(Expr x, double bound) { return apply("less", x, x.constant(bound)); }

// (N,P,1) -> (N,P)
Expr flat(Expr x) { return reshape(x, {x.shape()[0], x.shape()[1]}); }

}  // namespace

BoxCorners shares_of(const LayerContext& context, Expr regions) {
  const double across = 1.0 / double(context.image.width), down = 1.0 / double(context.image.height);
  const BoxCorners box = corners_of(regions);
  return {box.x1 * across, box.y1 * down, (box.x2 + 1.0) * across, (box.y2 + 1.0) * down};
}

Expr cost_of_anchors(LayerContext& context, const SamplingParams& by, Expr scores, Expr offsets, Expr anchors) {
  constexpr double kSigma = 3;  // of the smooth L1 of offsets, as in Faster R-CNN
  const double across = 1.0 / double(context.image.width), down = 1.0 / double(context.image.height);
  const BoxCorners pixels = corners_of(anchors);
  const BoxCorners places{pixels.x1 * across, pixels.y1 * down, pixels.x2 * across, pixels.y2 * down};
  const BoxMatch match = matched(places, objects_of(context), by.anchor_overlap[0]);
  const Expr positive = flat(match.positive);
  const Expr negative = below(flat(match.overlap), by.anchor_overlap[1]) * (1.0 - positive);
  const Samples samples = samples_of(context, positive, negative, by.anchors, by.anchors / 2, "/anchors");
  const Expr count = maximum(sum(samples.objects + samples.background, {1}), 1);
  const Expr of_scores = apply("bce_logits", scores, samples.objects) * (samples.objects + samples.background);
  const Expr wanted = apply("stop_gradient", encoded(places, match.box, 1, 1));
  const Expr misses = flat(sum(apply("smooth_l1", offsets - wanted, offsets.constant(kSigma)), {2}));
  const Expr each = sum(of_scores + samples.objects * misses, {1}) / count;  // (N,1)
  const double share = context.share.count > 0 ? context.share.weight() : 1;
  return mean(each, {0}) * (by.anchor_cost * share);
}

Expr sampled_regions(LayerContext& context, const SamplingParams& by, Expr proposals) {
  Graph& graph = context.graph;
  const Expr objects = objects_of(context);
  const int64_t samples = objects.shape()[0];
  const double width = double(context.image.width), height = double(context.image.height);
  const BoxCorners box = corners_of(objects, 1);
  const Expr own = beside({box.x1 * width, box.y1 * height, box.x2 * width - 1.0, box.y2 * height - 1.0}, 2);
  const Expr all = beside({proposals, own}, 1);
  const BoxCorners corners = corners_of(all);
  const Expr there = flat(apply("less", corners.x1, corners.x2) * apply("less", corners.y1, corners.y2));
  const BoxMatch match = matched(shares_of(context, all), objects, by.object_overlap);
  const Expr positive = flat(match.positive) * there;
  const Expr negative = below(flat(match.overlap), by.object_overlap) * (1.0 - flat(match.positive)) * there;
  const auto most = int64_t(std::floor(by.foreground * double(by.regions)));
  const Samples chosen = samples_of(context, positive, negative, by.regions, most, "/regions");
  // Boxes of overlap 1 at most suppress none: they are put in order.
  const Expr order = reshape(chosen.objects * 2.0 + chosen.background, {samples, 1, all.shape()[1]});
  const Expr index(graph, suppressed(graph, all, order, {1, by.regions, 0, 0, false}));
  return apply("stop_gradient", rows_at(all, reshape(index, {samples, by.regions})));
}

}  // namespace neon
