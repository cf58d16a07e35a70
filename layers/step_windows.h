// Filters and pooling windows that step over the steps of a sequence (N,T,F). To the ops of images a sequence is an
// image of one row, (N,1,T,F).
#pragma once
#include "layers/images.h"

namespace neon {

// The sequence x with a number in place of padded steps.
Expr filled_steps(LayerContext& context, Expr x, double number);
// An array in which padded steps are 0 where it is a sequence, for a layer that takes steps for features.
Expr without_padding(LayerContext& context, Expr x);
// The sequence x as images (N,1,T,F), with `otherwise` in place of padded steps.
Expr as_image_row(LayerContext& context, Expr x, double otherwise);
// 1 for each step that is no padding and 0 for padding, (N,1,T,1); without a value where nothing is padded.
Expr counted_steps(LayerContext& context, Expr x);
// y (N,1,T',K), made of windows over x (N,T,F), as a sequence (N,T',K). Its lengths are the numbers of windows that lie
// within a sequence and its padding, but at least 1.
Expr as_windowed_sequence(LayerContext& context, Expr y, Expr x, const Windows& windows);
// y (N,1,T',K), made by windows backwards from each step of x, as a sequence: one of n steps has then
// (n - 1) stride - padding + extent, but at least 1.
Expr as_unwound_sequence(LayerContext& context, Expr y, Expr x, const Windows& windows);
// Windows of one axis, as windows over images of one row.
Windows over_image_row(Windows windows);
// Throws a config error where windows of one axis are larger than the sequence x and its padding. `what` they are:
// "filter".
void check_step_windows(Expr x, const Windows& windows, const char* what);

}  // namespace neon
