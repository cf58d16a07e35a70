// Reshape: the features of a sample in another shape; 0 keeps an axis, -1 is worked out. Shapes are those that people
// know: of images (C,H,W), and the features lie in that order. Where the steps of sequences do not stay, padding is 0.
#include "layers/step_windows.h"

namespace neon {

namespace {

constexpr double kMaxSize = 0x1p30;

struct ReshapeParams {
  std::vector<int64_t> reshape;
  static void describe(auto&& p) {
    p("reshape", &ReshapeParams::reshape,
      "New shape of a sample, without the batch; 0 keeps an axis, one -1 takes what is left, as in [-1].",
      closed(-1, kMaxSize), Alias{"shape"}, Required{});
  }
};

struct Reshape : Parametrized<Layer, ReshapeParams> {
  using Parametrized::Parametrized;
  bool takes_channels_first() const override { return true; }
  WayOfZeros way_of_zeros() const override { return WayOfZeros::moved; }
  // Unless the steps stay, the numbers of several may come together.
  Sight sight() const override { return !params.reshape.empty() && params.reshape[0] == 0 ? Sight::step : Sight::any; }
  Expr forward(LayerContext& context, Expr given) const override {
    const Expr x = keeps_steps(context, given) ? given : context.channels_first(without_padding(context, given));
    std::vector<int64_t> sizes = {x.shape()[0]};
    const int64_t features = x.shape().slice(1, x.shape().rank()).elements();
    int64_t known = 1;
    int unknown = -1;
    for (size_t i = 0; i < params.reshape.size(); ++i) {
      int64_t size = params.reshape[i];
      if (size == 0) {
        if (int(i) + 1 >= x.shape().rank())
          fail(ErrorKind::config, "reshape keeps axis ", i, " (0), but the input has only ", x.shape().rank() - 1);
        size = x.shape()[int(i) + 1];
      }
      if (size < 0) {
        if (unknown >= 0) fail(ErrorKind::config, "reshape has more than one -1");
        unknown = int(i) + 1;
      } else if (known <= features) {  // with the parameter's bound, this keeps the product from overflowing
        known *= size;
      }
      sizes.push_back(size);
    }
    if (unknown >= 0) {
      if (known == 0 || features % known)
        fail(ErrorKind::config, "reshape: the ", features, " features of the input do not divide evenly by ", known);
      sizes[size_t(unknown)] = features / known;
    }
    if (unknown < 0 && known != features)
      fail(ErrorKind::config, "reshape turns the ", features, " numbers of ", context.sample_shape(given), " into ",
           known < features ? text(known) : "more", "; write -1 for one size that follows from the others");
    if (sizes.size() < 4) return neon::reshape(x, Shape(sizes));
    // A value of its own: where there is but one channel, the same numbers in the same shape may be known with their
    // channels last.
    const Expr y = context.expr(context.graph.add("reshape", {x}, {{"shape", sizes}, {"channels_first", int64_t(1)}}));
    context.mark_channels_first(y);
    return y;
  }

 private:
  // Whether the result is a sequence of the steps of x.
  bool keeps_steps(LayerContext& context, Expr x) const {
    const bool first = params.reshape.size() == 2 && (params.reshape[0] == 0 || params.reshape[0] == x.shape()[1]);
    return context.is_sequence(x) && first;
  }
};
NEON_REGISTER(Layer, Reshape, "Gives the features of a sample another shape.");

}  // namespace

}  // namespace neon
