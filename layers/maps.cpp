// Layers between feature maps of the same pixel: Maxout (Goodfellow et al. 2013), ShuffleNet's ChannelShuffle (Zhang et
// al. 2018) and neon 0.9's Slice and CrossMapPooling.
#include <numeric>

#include "backends/graph/ops.h"
#include "layers/convolution.h"
#include "layers/linear.h"
#include "transforms/parts.h"

namespace neon {

namespace {

struct MaxoutParams {
  int64_t pieces = 2;
  static void describe(auto&& p) {
    p("pieces", &MaxoutParams::pieces, "Number of neighbouring features to take the largest of.", at_least(1),
      Required{});
  }
};
struct Maxout : Parametrized<Layer, MaxoutParams> {
  using Parametrized::Parametrized;
  // x (N,...,K*pieces) -> (N,...,K)
  Expr forward(LayerContext&, Expr x) const override {
    const Shape shape = x.shape();
    const int last = shape.rank() - 1;
    if (shape.back() % params.pieces)
      fail(ErrorKind::config, shape.back(), " features do not divide evenly into pieces of ", params.pieces);
    const int64_t maps = shape.back() / params.pieces;
    x = reshape(x, shape.slice(0, last).concat({maps, params.pieces}));
    return reshape(max(x, {last + 1}), shape.with(last, maps));
  }
};
NEON_REGISTER(Layer, Maxout, "Takes the largest of every `pieces` neighbouring features or feature maps.");

struct SliceParams {
  int64_t begin_idx = 0;
  int64_t end_idx = 0;
  static void describe(auto&& p) {
    p("end_idx", &SliceParams::end_idx, "Index, from 0, of the first feature behind the slice.", at_least(1),
      Required{});
    p("begin_idx", &SliceParams::begin_idx, "Index, from 0, of the first feature or feature map of the slice.",
      at_least(0));
  }
};
struct Slice : Parametrized<Layer, SliceParams> {
  explicit Slice(SliceParams given) : Parametrized(std::move(given)) {
    if (params.begin_idx >= params.end_idx)
      fail(ErrorKind::config, "begin_idx ", params.begin_idx, " and end_idx ", params.end_idx, " leave nothing");
  }
  // x (N,...,C) -> (N,...,end_idx - begin_idx)
  Expr forward(LayerContext& context, Expr x) const override {
    const int64_t last = x.shape().rank() - 1, features = x.shape().back();
    if (params.end_idx > features)
      fail(ErrorKind::config, "end_idx ", params.end_idx, " is more than the ", features, " features of the input");
    const auto cut = [&](Expr of) { return part(of, last, params.begin_idx, params.end_idx - params.begin_idx); };
    // A cost of probabilities behind the slice finds their logistic function, and so its input.
    const Node& made = context.graph.producer(x);
    return made.op->is(ops::logistic) ? apply("logistic", cut(context.expr(made.inputs[0]))) : cut(x);
  }
  WayOfZeros way_of_zeros() const override { return WayOfZeros::moved; }
};
NEON_REGISTER(Layer, Slice, "Passes a range of features or feature maps on.", {"SliceLayer"});

struct ChannelShuffleParams {
  int64_t groups = 2;
  static void describe(auto&& p) {
    p("groups", &ChannelShuffleParams::groups, "Number of groups of neighbouring features; one of each comes in turn.",
      at_least(1), Required{});
  }
};
struct ChannelShuffle : Parametrized<Layer, ChannelShuffleParams> {
  using Parametrized::Parametrized;
  // x (N,...,groups*K) -> (N,...,K*groups): feature g K + k becomes feature k groups + g.
  Expr forward(LayerContext&, Expr x) const override {
    const Shape shape = x.shape();
    const int last = shape.rank() - 1;
    if (shape.back() % params.groups)
      fail(ErrorKind::config, shape.back(),
           " features do not divide evenly into groups of the same size: ", params.groups, " groups");
    const Shape apart = shape.slice(0, last).concat({params.groups, shape.back() / params.groups});
    std::vector<int64_t> permutation(size_t(last) + 2);
    std::iota(permutation.begin(), permutation.end(), 0);
    std::swap(permutation[size_t(last)], permutation[size_t(last) + 1]);
    return reshape(Expr(x.graph(), transpose(x.graph(), reshape(x, apart), permutation)), shape);
  }
  WayOfZeros way_of_zeros() const override { return WayOfZeros::moved; }
};
NEON_REGISTER(Layer, ChannelShuffle,
              "Deals the features or feature maps of `groups` groups out in turn, as ShuffleNet does.");

struct CrossMapPoolingParams {
  int64_t nofm = 0;
  Made<Initializer> init;
  Made<Activation> activation;
  static void describe(auto&& p) {
    p("nofm", &CrossMapPoolingParams::nofm, "Number of feature maps of the output.", at_least(1), Required{});
    p("init", &CrossMapPoolingParams::init, kInitSentence, Alias{"weight_init"});
    p("activation", &CrossMapPoolingParams::activation,
      "Activation of the sums, as in activation: Rectlin. Without it they stay linear.");
  }
};
struct CrossMapPooling : Parametrized<Layer, CrossMapPoolingParams> {
  explicit CrossMapPooling(CrossMapPoolingParams given) : Parametrized(std::move(given)) {
    params.init = init_before(params.activation, params.init);
  }
  Expr forward(LayerContext& context, Expr x) const override {
    return activate(context, convolution(context, x, filters(), context.layer), params.activation);
  }
  bool has_own_library() const override { return true; }

 private:
  ConvolutionParams filters() const {
    ConvolutionParams out;
    out.fshape = AxisNumbers{1};
    out.nofm = params.nofm;
    out.init = params.init;
    return out;
  }
};
NEON_REGISTER(Layer, CrossMapPooling, "Weighted sums over the feature maps of each pixel: a 1x1 convolution.",
              {"CrossMapPoolingLayer"});

}  // namespace

}  // namespace neon
