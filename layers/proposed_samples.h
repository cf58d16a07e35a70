// The part of Faster R-CNN's training that knows the objects of an image (Ren et al. 2015): what anchors learn, and the
// regions that its second net is trained with.
#pragma once
#include "layers/layer.h"

namespace neon {

struct SamplingParams {
  int64_t regions = 128, anchors = 256;
  double foreground = 0.25, object_overlap = 0.5;
  std::vector<double> anchor_overlap = {0.7, 0.3};
  double anchor_cost = 1;
  static void describe(auto&& p) {
    p("regions", &SamplingParams::regions,
      "Regions of an image in a training step: draws of those that show an object, and of the background. neon adds "
      "the "
      "objects themselves to the proposals before. 0: all proposals, without the objects.",
      closed(0, 1e5));
    p("foreground", &SamplingParams::foreground, "Largest share of these regions that show an object.", closed(0, 1));
    p("object_overlap", &SamplingParams::object_overlap,
      "Regions that overlap an object by this or more (intersection over union) show it, others the background.",
      open_closed(0, 1));
    p("anchors", &SamplingParams::anchors,
      "Anchors of an image that scores and offsets learn from in a step: draws, of which half or less show an object.",
      closed(1, 1e6));
    p("anchor_overlap", &SamplingParams::anchor_overlap,
      "Anchors that overlap an object by the first number or more show it, and the anchor that overlaps it most. "
      "Anchors that overlap all objects by less than the second number show the background; others are no examples.",
      closed(0, 1));
    p("anchor_cost", &SamplingParams::anchor_cost,
      "Factor of what anchors cost: cross-entropy of the scores, and smooth L1 of the offsets. Training minimises it "
      "beside the cost of the spec, and neon reports the latter alone.",
      at_least(0));
  }
};

// Scores (N,P), offsets (N,P,4) at anchors (1,P,4) in pixels -> what they cost, as a number (1,1). The objects of
// `context` are known.
Expr cost_of_anchors(LayerContext& context, const SamplingParams& by, Expr scores, Expr offsets, Expr anchors);

// Proposals (N,R,4) in pixels, x2 and y2 being the last -> (N,by.regions,4), those that show an object first; 0 behind
// the last.
Expr sampled_regions(LayerContext& context, const SamplingParams& by, Expr proposals);

// Regions in pixels, x2 and y2 being the last, as boxes in shares of the image.
BoxCorners shares_of(const LayerContext& context, Expr regions);

}  // namespace neon
