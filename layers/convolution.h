// The convolution that Convolution and Conv are made of.
#pragma once
#include "layers/images.h"

namespace neon {

struct FilterParams {
  AxisNumbers fshape;
  std::optional<int64_t> nofm;
  AxisNumbers strides{1};
  AxisNumbers padding{0};
  AxisNumbers dilation{1};
  Made<Initializer> init;
  static void describe(auto&& p) {
    p("fshape", &FilterParams::fshape,
      "Filter: one number, [height, width] or [depth, height, width], with nofm; or the same and the number of "
      "feature maps at the end. As a map: 1 along an axis that it leaves out.",
      at_least(1), Required{});
    p("nofm", &FilterParams::nofm, "Number of feature maps, unless fshape ends with it.", at_least(1));
    p("strides", &FilterParams::strides, "Pixels from one window to the next.", at_least(1), Alias{"stride"});
    p("padding", &FilterParams::padding, "Zeros around the input.", closed(0, kMostOfWindows), Alias{"pad"});
    p("dilation", &FilterParams::dilation, "Pixels from one place of the filter to the next.", at_least(1));
    p("init", &FilterParams::init, "Initial weights.", Alias{"weight_init"}, Required{});
  }
};

struct ConvolutionParams : FilterParams {
  int64_t groups = 1;
  static void describe(auto&& p) {
    FilterParams::describe(p);
    p("groups", &ConvolutionParams::groups,
      "Parts into which channels and feature maps are cut, each connected to its own alone.", at_least(1));
  }
};

// How a filter steps over `axes` axes, and how many feature maps there are.
struct Filter {
  Windows windows;
  int64_t maps = 0;
};
Filter filter_of(const FilterParams& params, int axes);

// x (N,H,W,C) -> (N,P,Q,K), W (K,R,S,C/groups); likewise in 3-D
Expr convolution(LayerContext& context, Expr x, const ConvolutionParams& params, const std::string& name);
// x (N,P,Q,K) -> (N,H,W,C), W (K,R,S,C): the convolution from C maps to K, backwards
Expr deconvolution(LayerContext& context, Expr x, const FilterParams& params, const std::string& name);

// Multiplications and additions of a sample, (C,H,W) -> (K,P,Q) by filters of `taps` places.
double convolution_flops(const FilterParams& params, const Shape& input, const Shape& output, int64_t groups);

}  // namespace neon
