// Boxes of objects in graphs. The corners x1, y1, x2, y2 are shares of an image's width and height. A sample's boxes
// are rows of kBoxNumbers: class, corners, and 1 for a difficult one; rows of class -1 fill up its list.
#pragma once
#include <array>

#include "backends/graph/boxes.h"
#include "neon/core/box_rows.h"
#include "neon/core/params.h"
#include "transforms/parts.h"

namespace neon {

// A detection is a row of so many: class, score, corners; class -1 behind the last.
constexpr int64_t kDetectionNumbers = 6;

// Offsets of a box from its prior box are divided by these, of its middle and of its sizes (Girshick 2015, Liu et al.
// 2016).
constexpr double kMiddleDeviation = 0.1, kSizeDeviation = 0.2;

// (1,H W A,4): corners of A boxes, of the heights and widths `shapes`, about the middle of each place of maps
// (N,H,W,...). Places are `pitch` apart, down and across, in the unit of the boxes.
Expr boxes_of_places(Graph& graph, const Shape& maps, const std::array<double, 2>& pitch,
                     const std::vector<std::array<double, 2>>& shapes, DType dtype);

// Four arrays of one shape, or of shapes that broadcast.
struct BoxCorners {
  Expr x1, y1, x2, y2;
};
// The four numbers of x (...,F) from number `first` of the last axis on, (...,1) each.
BoxCorners corners_of(Expr x, int64_t first = 0);
Expr area_of(const BoxCorners& box);
// Intersection over union; 0 where both are empty.
Expr overlap_of(const BoxCorners& a, const BoxCorners& b);
// The boxes that lie at `offsets` (...,4), in these deviations, from their prior boxes; and back.
BoxCorners decoded(const BoxCorners& priors, Expr offsets, double middle = kMiddleDeviation,
                   double size = kSizeDeviation);
Expr encoded(const BoxCorners& priors, const BoxCorners& boxes, double middle = kMiddleDeviation,
             double size = kSizeDeviation);

// Number `index` (N,R) i32 of x (N,P,F) for each, and 0 where it is below 0: (N,R,F).
Expr rows_at(Expr x, Expr index);

// Predictions of a net at its prior boxes, in f32 or f64.
struct BoxOutputs {
  Expr scores;   // (N,P,K+1): of K classes, then of the background, before a softmax
  Expr offsets;  // (N,P,4)
  Expr priors;   // (1,P,4), or (N,P,4) where each sample has its own
};

// How detections are chosen of a net's outputs.
struct DetectionParams {
  double overlap = 0.45, least = 0.01;
  int64_t candidates = 400, most = 200;
  static void describe(auto&& p) {
    p("overlap", &DetectionParams::overlap,
      "Detections that overlap a better one of their class by more than this (intersection over union) are left out.",
      closed(0, 1));
    p("least", &DetectionParams::least, "Scores up to this are no detection.", half_open(0, 1));
    p("candidates", &DetectionParams::candidates, "Highest scores of a class that are looked at.", closed(1, 1e6));
    p("most", &DetectionParams::most, "Most detections of an image.", closed(1, 1e4));
  }
};

// (N,most,6), by falling score.
Expr detections_of(const BoxOutputs& outputs, const DetectionParams& by);

// Which object each prior box stands for.
struct BoxMatch {
  Expr overlap;   // (N,P,1) the largest with an object, below 0 without objects
  Expr positive;  // (N,P,1) 1 where it stands for one
  Expr label;     // (N,P,1) its class
  BoxCorners box;
};
// boxes (N,M,6). A prior box stands for the object that it overlaps most, if by `least` at least. Each object also has
// the prior box that overlaps it most.
BoxMatch matched(const BoxCorners& priors, Expr boxes, double least);

}  // namespace neon
