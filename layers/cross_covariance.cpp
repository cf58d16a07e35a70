// XCovariance (Cheung et al. 2014, "Discovering hidden factors of variation in deep networks"): a penalty on what two
// groups of features have in common, 1/2 sum over i, j of C_ij^2. C_ij is the covariance over the batch of feature i of
// the first group and feature j of the second, divided by the number of samples.
#include "layers/rank_sums.h"
#include "transforms/parts.h"

namespace neon {

namespace {

struct XCovarianceParams {
  int64_t split = 1;
  double scale = 1;
  static void describe(auto&& p) {
    p("split", &XCovarianceParams::split, "Features of the first group; the others are the second.", at_least(1),
      Required{}, Alias{"blkidx"});
    p("scale", &XCovarianceParams::scale, "Factor of the penalty beside the cost.", at_least(0));
  }
};

struct XCovariance : Parametrized<Layer, XCovarianceParams> {
  using Parametrized::Parametrized;
  Expr forward(LayerContext& context, Expr x) const override {
    const Shape shape = x.shape();
    if (shape.rank() != 2)
      fail(ErrorKind::config, "XCovariance is for rows of features, as those behind Affine, and not for ",
           context.sample_shape(x));
    if (params.split >= shape[1])
      fail(ErrorKind::config, "XCovariance: split: ", params.split, " of ", shape[1],
           " features leave none for the second group; give less than ", shape[1]);
    if (!context.training) return x;
    const double inverse = 1 / double(context.share.ranks > 1 ? context.share.whole : shape[0]);
    const Expr wide = cast(x, context.arithmetic_dtype);
    const Expr centred = wide - over_ranks(context, sum(wide, {0})) * inverse;
    const Expr first = part(centred, 1, 0, params.split),
               second = part(centred, 1, params.split, shape[1] - params.split);
    const Expr products(context.graph, matmul(context.graph, first, second, true));
    const Expr covariance = over_ranks(context, products) * inverse;
    // Ranks add up their gradients, so each has its part of the penalty.
    context.penalties.push_back(sum(square(covariance), {0, 1}) * (0.5 * params.scale / context.share.ranks));
    return x;
  }
};
NEON_REGISTER(
    Layer, XCovariance,
    "Passes features on, and adds a penalty to what is minimised: the squared covariances over the batch of a "
    "first group of features with the others. The costs that neon reports are without the penalty.");

}  // namespace

}  // namespace neon
