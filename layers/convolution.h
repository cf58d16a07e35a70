// The convolution that Convolution and Conv are made of.
#pragma once
#include "layers/default_init.h"
#include "layers/images.h"

namespace neon {

struct FilterParams {
  AxisNumbers fshape;
  std::optional<int64_t> nofm;
  AxisNumbers strides{1};
  AxisNumbers padding{0};
  AxisNumbers dilation{1};
  Made<Initializer> init;
  bool binary = false;  // of layers that take the signs of their weights
  static void describe(auto&& p) {
    p("fshape", &FilterParams::fshape,
      "Size of the filters: 3, [height, width] or [depth, height, width]; or with the number of feature maps at the "
      "end, as in [3, 3, 16]. In a map, {R: 3, S: 3, K: 16}, an axis left out has size 1. Sequences (T,F) take a "
      "number of steps: 5, or [5, 16].",
      at_least(1), Required{});
    p("nofm", &FilterParams::nofm, "Number of feature maps. Leave it out where fshape ends with it.", at_least(1));
    p("strides", &FilterParams::strides, "Step from one window to the next, in pixels.", at_least(1), Alias{"stride"});
    p("padding", &FilterParams::padding,
      "Zeros added at each edge of the input, in pixels. For fshape 3, padding: 1 keeps the size.",
      closed(0, kMostOfWindows), Alias{"pad"});
    p("dilation", &FilterParams::dilation,
      "Step from one element of the filter to the next, in pixels; 1 leaves no gaps.", at_least(1));
    p("init", &FilterParams::init, kInitSentence, Alias{"weight_init"});
  }
};

struct GroupedFilterParams : FilterParams {
  int64_t groups = 1;
  static void describe(auto&& p) {
    FilterParams::describe(p);
    p("groups", &GroupedFilterParams::groups,
      "Groups of channels; each is connected only to its own share of the feature maps.", at_least(1));
  }
};

struct ConvolutionParams : GroupedFilterParams {
  bool causal = false;
  static void describe(auto&& p) {
    GroupedFilterParams::describe(p);
    p("causal", &ConvolutionParams::causal,
      "For sequences: the last element of a filter lies on its own step, so that no step sees later ones. Zeros come "
      "before the first step, none behind the last; leave padding out.");
  }
};

// How a filter steps over `axes` axes, and how many feature maps there are.
struct Filter {
  Windows windows;
  int64_t maps = 0;
};
Filter filter_of(const FilterParams& params, int axes);

// x (N,H,W,C) -> (N,P,Q,K), W (K,R,S,C/groups); likewise in 3-D, and of sequences (N,T,F) -> (N,T',K), W (K,R,F/groups)
Expr convolution(LayerContext& context, Expr x, const ConvolutionParams& params, const std::string& name);
// x (N,P,Q,K) -> (N,H,W,C), W (K,R,S,C/groups): the convolution from C maps to K, backwards
Expr deconvolution(LayerContext& context, Expr x, const GroupedFilterParams& params, const std::string& name);

}  // namespace neon
