// GroupNorm and InstanceNorm: groups of the feature maps of each sample, normalised over their pixels, or over those
// steps of a sequence that are no padding. Statistics are f32 (f64 for f64).
#include "layers/sample_norm.h"

namespace neon {

namespace {

// x (N,T,G,F): each of G groups over those steps that count; `counts` (N,T,1,1) is 1 there and 0 elsewhere. Steps are
// added one after the other, so that padding changes no bit. As in the op normalize, a second reading corrects the
// mean.
Expr normalized_over_counted_steps(Expr x, Expr counts, double eps) {
  const auto total = [](Expr each) { return sum(sum(each, {3}), {1}); };
  const auto counted = [&](Expr each) { return apply("select", counts, each, each.constant(0)); };
  const Expr numbers = sum(counts, {1}) * double(x.shape()[3]);
  const Expr within = counted(x), near = counted(within - total(within) / numbers);
  const Expr distance = counted(near - total(near) / numbers);
  return distance * apply("rsqrt", total(square(distance)) / numbers + eps);
}

// x (N,...,C): each of `groups` groups of neighbouring features over those places between that count; (C) where the
// features of a sample stand alone.
Expr of_counted(LayerContext& context, Expr x, Expr counts, int64_t groups, double eps) {
  const int64_t features = x.shape().back(), places = x.shape()[1];
  const Expr wide = cast(x, context.arithmetic_dtype);
  const Expr parts = reshape(wide, {x.shape()[0], places, groups, features / groups});
  const Expr each = reshape(counts, {x.shape()[0], places, 1, 1});
  return reshape(normalized_over_counted_steps(parts, each, eps), x.shape());
}

Expr group_norm(LayerContext& context, Expr x, int64_t groups, double eps, bool shift, const char* layer_class) {
  const Shape& shape = x.shape();
  const int64_t features = shape.back();
  if (shape.slice(1, shape.rank() - 1).elements() * (features / groups) == 1)
    fail(ErrorKind::config, "each of the ", features, " features is a group of one number, which is its own mean, so ",
         "that nothing would be left of it; LayerNorm normalises the features of a sample together");
  if (const Expr counts = unpadded(context, x); counts.value())
    return scaled_and_shifted(context, of_counted(context, x, counts, groups, eps), shift, layer_class);
  const Expr gamma = norm_parameter(context, "gamma", 1, features, layer_class);
  const Expr none(context.graph, broadcast_to(context.graph, gamma.constant(0), gamma.shape()));
  const Expr beta = shift ? norm_parameter(context, "beta", 0, features, layer_class) : none;
  const auto results = context.graph.add_all("group_norm", {cast(x, context.arithmetic_dtype), gamma, beta},
                                             {{"groups", groups}, {"epsilon", eps}});
  return cast(context.expr(results[0]), context.dtype);
}

struct GroupNormParams {
  int64_t groups = 0;
  double eps = 1e-5;
  bool bias = true;
  static void describe(auto&& p) {
    p("groups", &GroupNormParams::groups,
      "Number of groups of neighbouring feature maps, each of the same size. 1 normalises all of a sample together.",
      at_least(1), Required{});
    p("eps", &GroupNormParams::eps, "Added to the variance, inside the root.", above(0), Alias{"epsilon"});
    p("bias", &GroupNormParams::bias, "Whether a trained shift, beta, is added.");
  }
};

struct GroupNorm : Parametrized<Layer, GroupNormParams> {
  using Parametrized::Parametrized;
  Sight sight() const override { return Sight::any; }
  Expr forward(LayerContext& context, Expr x) const override {
    if (x.shape().back() % params.groups)
      fail(ErrorKind::config, "GroupNorm: ", x.shape().back(), " feature maps do not go into ", params.groups,
           " groups evenly");
    return group_norm(context, x, params.groups, params.eps, params.bias, "GroupNorm");
  }
};
NEON_REGISTER(
    Layer, GroupNorm,
    "Normalises groups of feature maps of each sample, over their pixels, to mean 0 and deviation 1 (Wu and He 2018). "
    "Trained numbers then scale and shift each map. The steps of a sequence count as pixels, but for padding.");

struct InstanceNormParams {
  double eps = 1e-5;
  bool bias = true;
  static void describe(auto&& p) {
    p("eps", &InstanceNormParams::eps, "Added to the variance, inside the root.", above(0), Alias{"epsilon"});
    p("bias", &InstanceNormParams::bias, "Whether a trained shift, beta, is added.");
  }
};

struct InstanceNorm : Parametrized<Layer, InstanceNormParams> {
  using Parametrized::Parametrized;
  Sight sight() const override { return Sight::any; }
  Expr forward(LayerContext& context, Expr x) const override {
    return group_norm(context, x, x.shape().back(), params.eps, params.bias, "InstanceNorm");
  }
};
NEON_REGISTER(Layer, InstanceNorm,
              "GroupNorm with a group for each feature map, or each feature of a sequence (Ulyanov et al. 2016).");

}  // namespace

}  // namespace neon
