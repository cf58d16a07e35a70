// Layers of images and volumes share this: which axes an array has, and how windows step over them.
#pragma once
#include "backends/graph/windows.h"
#include "layers/axis_numbers.h"
#include "layers/layer.h"

namespace neon {

// Axes of space of x (N,H,W,C) or (N,D,H,W,C); a config error for what is neither.
int axes_of_space(Expr x, const char* layer);
// The sizes of those axes.
std::vector<int64_t> space(Expr x);
// Throws a config error that people understand where windows over those axes are larger than x with its padding. `what`
// they are: "filter".
void check_windows(Expr x, const Windows& windows, const char* what);

}  // namespace neon
