// Augmentations that mix each image of a batch with its neighbour in the batch, and the targets alike.
#include <cmath>

#include "transforms/augmentation.h"

namespace neon {

namespace {

struct MixParams {
  double alpha = 1;
  double probability = 1;
  static void describe(auto&& p) {
    p("alpha", &MixParams::alpha,
      "The share that an image keeps is drawn from the distribution Beta(alpha, alpha): evenly with 1; below 1 mostly "
      "near 0 or 1.",
      closed(0.01, 100));
    p("probability", &MixParams::probability, "Share of images that are mixed.", closed(0, 1));
  }
};

// A number of Beta(alpha, alpha) for each sample. A place on a circle gives one of Beta(alpha + 1, alpha + 1) (Ulrich
// 1984). It is the first one's share in the sum of two of Gamma(alpha + 1), and one of these times u^(1/alpha) is of
// Gamma(alpha) (Marsaglia and Tsang 2000); what is drawn is the share in the new sum.
Expr beta_share(ImageBatch& batch, double alpha) {
  const auto positive = [&] { return 1.0 - batch.draw_for_values(); };  // in (0, 1]
  const Expr u = positive(), angle = batch.draw_for_values() * (2 * M_PI);
  const Expr radius = sqrt(1.0 - apply("pow", u, u.constant(2 / (2 * alpha + 1))));
  const Expr share = (1.0 + radius * apply("cos", angle)) * 0.5;
  const Expr first = log(positive()), second = log(positive());
  return apply("logistic", log(share) - log(1.0 - share) + (first - second) * (1 / alpha));
}

// beta_share() of the images that are mixed, and 1 of the others.
Expr kept_share(ImageBatch& batch, const MixParams& params) {
  const Expr share = beta_share(batch, params.alpha);
  if (params.probability == 1) return share;
  const Expr u = batch.draw_for_values();
  return apply("select", apply("less", u, u.constant(params.probability)), share, share.constant(1));
}

struct Mixup : Parametrized<Augmentation, MixParams> {
  using Parametrized::Parametrized;
  bool mixes() const override { return true; }
  void apply(ImageBatch& batch) const override {
    if (!batch.training) return;
    const Expr share = kept_share(batch, params);
    const auto mixed = [&](Expr x) {
      const Expr own = cast(share, x.dtype());
      return x * own + partners(x) * (1.0 - own);
    };
    batch.set_values(mixed(batch.values()));
    batch.mixture.add(share);
    if (!batch.companion()) return;
    if (batch.companion_sampling() == Sampling::nearest)
      fail(ErrorKind::config, "Mixup: a mean of two labels of a pixel is no label; CutMix takes whole pixels");
    batch.set_companion(mixed({batch.graph, batch.companion()}));
  }
};
NEON_REGISTER(
    Augmentation, Mixup,
    "Mixes each image, and its target, with its neighbour in the batch: a share of the one and the rest of the "
    "other (Zhang et al. 2018). The training cost compares with the mixed target; an evaluation mixes nothing.",
    {"MixUp"});

struct CutMix : Parametrized<Augmentation, MixParams> {
  using Parametrized::Parametrized;
  bool mixes() const override { return true; }
  void apply(ImageBatch& batch) const override {
    if (!batch.training) return;
    const auto height = double(batch.area().height), width = double(batch.area().width);
    const Expr side = sqrt(1.0 - kept_share(batch, params));
    // A stretch of that share of a length about a random place, as far as it lies in the image.
    const auto stretch = [&](double length) {
      const Expr middle = neon::apply("floor", batch.draw_for_values() * length);
      const Expr half = neon::apply("floor", neon::apply("floor", side * length) * 0.5);
      const Expr first = maximum(middle - half, 0.0);
      return std::pair(first, minimum(middle + half, length) - first);
    };
    const auto [top, tall] = stretch(height);
    const auto [left, wide] = stretch(width);
    const PixelBox box{top, left, tall, wide};
    const auto mixed = [&](Expr x) { return put_into_box(box, partners(x), x); };
    batch.set_values(mixed(batch.values()));
    batch.mixture.add(1.0 - tall * wide * (1 / (height * width)));
    if (batch.companion()) batch.set_companion(mixed({batch.graph, batch.companion()}));
  }
};
NEON_REGISTER(
    Augmentation, CutMix,
    "Puts a box of its neighbour in the batch into each image; targets are mixed by the areas, and those that "
    "are images get the box, too (Yun et al. 2019). An evaluation mixes nothing.");

}  // namespace

}  // namespace neon
