// Boxes x1, y1, x2, y2 among which a net's scores choose.
#pragma once
#include "backends/graph/expression.h"

namespace neon {

// x (N,P), counts (N,1) -> (N,P): 1 for the counts[n] largest numbers of row n, 0 for the others. The first of equal
// numbers comes first; minus infinity and NaN are never taken. No gradient.
Expr largest(Expr x, Expr counts);

// Non-maximum suppression, row by row: the highest score is chosen, boxes that overlap its box by more than `overlap`
// (intersection over union) are left out, and so on.
struct Suppression {
  double overlap = 0.5;
  int64_t most = 200;      // chosen boxes of a row
  int64_t candidates = 0;  // the highest scores of a row, which alone are looked at; 0: all
  double least = 0;        // scores up to this are not looked at
  bool pixels = false;     // x2 and y2 are the last pixels of a box: it is x2 - x1 + 1 wide
};

// boxes (N,P,4), scores (N,K,P) -> (N,K,most) i32: the numbers of the boxes chosen for each of the K rows of scores, by
// falling score, then -1. The first of equal scores comes first. No gradient.
Value suppressed(Graph& graph, Value boxes, Value scores, const Suppression& by);

}  // namespace neon
