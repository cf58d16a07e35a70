// Augmentations that cover a part of each image, so that a net cannot rely on any one part.
#include <algorithm>
#include <cmath>

#include "transforms/augmentation.h"

namespace neon {

namespace {

constexpr const char* kCoversTarget =
    "Covers a target that is an image with 0, too; otherwise the net must find out what lies there.";

// Puts the means of the channels, or black, or 0 where numbers are no colours, into the box, and if `target`, 0 into
// that of the companion.
void cover(ImageBatch& batch, const PixelBox& box, bool target) {
  const Expr x = batch.values();
  const double empty = batch.recoded_by.empty() ? batch.black : 0;
  const std::vector<double> instead = batch.means.empty() ? std::vector<double>{empty} : batch.means;
  batch.set_values(put_into_box(box, batch.by_channel(instead), x));
  if (!target || !batch.companion()) return;
  const Expr t(batch.graph, batch.companion());
  batch.set_companion(put_into_box(box, t.constant(0), t));
}

struct CutoutParams {
  int64_t size = 8;
  bool target = false;
  static void describe(auto&& p) {
    p("size", &CutoutParams::size, "Side of the square, in pixels; parts beyond the image do not count.", at_least(1),
      Unit{"pixels"});
    p("target", &CutoutParams::target, kCoversTarget);
  }
};

struct Cutout : Parametrized<Augmentation, CutoutParams> {
  using Parametrized::Parametrized;
  void apply(ImageBatch& batch) const override {
    if (!batch.training) return;
    const auto [height, width] = batch.area();
    if (params.size >= 2 * std::max(height, width) - 1)
      fail(ErrorKind::config, "Cutout: a square of ", params.size, " pixels covers all of images of ", height, " x ",
           width, ", wherever it lies; give a smaller size");
    const auto first = [&](int64_t length) {
      return neon::apply("floor", batch.draw_for_values() * double(length)) - double((params.size - 1) / 2);
    };
    const Expr top = first(height), left = first(width), side = top.constant(double(params.size));
    cover(batch, {top, left, side, side}, params.target);
  }
};
NEON_REGISTER(Augmentation, Cutout, "Covers a square with the mean of the channels, or black (DeVries, Taylor 2017).");

struct RandomErasingParams {
  double probability = 0.5;
  std::vector<double> area = {0.02, 0.33};
  std::vector<double> aspect = {0.3, 1 / 0.3};
  bool target = false;
  static void describe(auto&& p) {
    p("probability", &RandomErasingParams::probability, "Share of images that are covered in part.", closed(0, 1));
    p("area", &RandomErasingParams::area, "Least and largest share of the image's area.", open_closed(0, 1));
    p("aspect", &RandomErasingParams::aspect,
      "Least and largest height of the box by its width; a box is never larger than the image.", closed(0.01, 100));
    p("target", &RandomErasingParams::target, kCoversTarget);
  }
};

struct RandomErasing : Parametrized<Augmentation, RandomErasingParams> {
  explicit RandomErasing(RandomErasingParams given) : Parametrized(std::move(given)) {
    check_range("area", params.area);
    check_range("aspect", params.aspect);
  }
  void apply(ImageBatch& batch) const override {
    if (!batch.training) return;
    const auto height = double(batch.area().height), width = double(batch.area().width);
    const auto drawn = [&](double low, double high) { return batch.draw_for_values() * (high - low) + low; };
    const Expr u = batch.draw_for_values(), covers = neon::apply("less", u, u.constant(params.probability));
    const Expr pixels = drawn(params.area[0], params.area[1]) * (height * width);
    const Expr aspect = exp(drawn(std::log(params.aspect[0]), std::log(params.aspect[1])));
    const auto whole = [&](Expr length, double most) {
      return minimum(maximum(neon::apply("rint", length), 1.0), most) * covers;
    };
    const Expr tall = whole(sqrt(pixels * aspect), height), wide = whole(sqrt(pixels / aspect), width);
    const Expr top = neon::apply("floor", batch.draw_for_values() * (height + 1.0 - tall));
    const Expr left = neon::apply("floor", batch.draw_for_values() * (width + 1.0 - wide));
    cover(batch, {top, left, tall, wide}, params.target);
  }
};
NEON_REGISTER(
    Augmentation, RandomErasing,
    "Covers a box of random size, shape and place in half of the images with the mean of the channels, or black "
    "(Zhong et al. 2020).");

}  // namespace

}  // namespace neon
