// Augmentations that move pixels: where a sample is cut from its image, at which size, and mirrored.
#include <algorithm>
#include <cmath>

#include "neon/core/sample_size.h"
#include "transforms/augmentation.h"

namespace neon {

namespace {

constexpr double kMostPixels = 8192;

struct RandomCropParams {
  SampleSize size;
  int64_t pad = 0;
  std::string border = "zero";
  int64_t average = 0;
  static void describe(auto&& p) {
    p("size", &RandomCropParams::size, "Side of the square that is cut, or [height, width]; 0: as large as the image.",
      closed(0, kMostPixels), Unit{"pixels"});
    p("pad", &RandomCropParams::pad, "Pixels by which the crop may reach beyond the image.", closed(0, kMostPixels),
      Unit{"pixels"});
    p("border", &RandomCropParams::border,
      "Pixels beyond the image: zero (black), reflect (the image mirrored) or edge (the last pixel).",
      one_of({"zero", "reflect", "edge"}));
    p("average", &RandomCropParams::average,
      "Distance between the middle and four more places, diagonally: an evaluation takes the mean of the net's outputs "
      "for all five. 0: the middle alone.",
      closed(0, kMostPixels), Unit{"pixels"});
  }
};

struct RandomCrop : Parametrized<Augmentation, RandomCropParams> {
  using Parametrized::Parametrized;
  void apply(ImageBatch& batch) const override {
    const ImageArea from = batch.area(),
                    to = params.size.given() ? ImageArea{params.size.height, params.size.width} : from;
    const int64_t down = from.height + 2 * params.pad - to.height, across = from.width + 2 * params.pad - to.width;
    if (down < 0 || across < 0)
      fail(ErrorKind::config, "RandomCrop: cannot cut ", to.height, " x ", to.width, " pixels from images of ",
           from.height, " x ", from.width, " with pad ", params.pad, "; give a smaller size");
    const Border border = params.border == "zero"   ? Border::zero
                          : params.border == "edge" ? Border::edge
                                                    : Border::reflect;
    if (!batch.training && params.average == 0) return batch.crop_middle(to, border);
    if (!batch.training) return take_places(batch, from, to, border);
    // u times a count is below the count also when it is rounded: each place from -pad on is as likely.
    const auto pad = double(params.pad);
    const Expr place = neon::apply("floor", batch.draw(3) * batch.columns({double(down + 1), double(across + 1), 0}));
    batch.crop(place - batch.columns({pad, pad, 0}), to, border);
  }

 private:
  // With the corners of the image these are the places of Krizhevsky et al., ImageNet Classification with Deep
  // Convolutional Neural Networks (2012), section 4.1, whose ten views come of Flip's average as well.
  void take_places(ImageBatch& batch, ImageArea from, ImageArea to, Border border) const {
    const int64_t top = (from.height - to.height) / 2, left = (from.width - to.width) / 2;
    const int64_t most = std::min(top, left) + params.pad;
    if (params.average > most)
      fail(ErrorKind::config, "RandomCrop: average reaches ", params.average,
           " pixels from the middle, and crops at most ", most, "; give that or less");
    std::vector<std::array<double, 3>> places = {{double(top), double(left), 0}};
    for (const int64_t down : {-params.average, params.average})
      for (const int64_t across : {-params.average, params.average})
        places.push_back({double(top + down), double(left + across), 0});
    batch.take_views(places, to, border);
  }
};
NEON_REGISTER(Augmentation, RandomCrop,
              "Cuts a square or another rectangle from anywhere in the image, in an evaluation from its middle.");

struct CenterCropParams {
  SampleSize size;
  static void describe(auto&& p) {
    p("size", &CenterCropParams::size, "Side of the square that is cut, or [height, width]: 224.",
      closed(1, kMostPixels), Unit{"pixels"}, Required{});
  }
};

struct CenterCrop : Parametrized<Augmentation, CenterCropParams> {
  using Parametrized::Parametrized;
  void apply(ImageBatch& batch) const override {
    const ImageArea from = batch.area(), to = {params.size.height, params.size.width};
    if (to.height > from.height || to.width > from.width)
      fail(ErrorKind::config, "CenterCrop: cannot cut ", to.height, " x ", to.width, " pixels from images of ",
           from.height, " x ", from.width, "; give a smaller size");
    batch.crop_middle(to, Border::zero);
  }
};
NEON_REGISTER(Augmentation, CenterCrop,
              "Cuts a square or another rectangle from the middle of the image, in training, too.");

struct FlipParams {
  double probability = 0.5;
  bool average = false;
  static void describe(auto&& p) {
    p("probability", &FlipParams::probability, "Share of images whose right and left are swapped.", closed(0, 1));
    p("average", &FlipParams::average,
      "Takes, in an evaluation, the mean of the net's outputs for an image and its mirror image.");
  }
};

struct Flip : Parametrized<Augmentation, FlipParams> {
  using Parametrized::Parametrized;
  void apply(ImageBatch& batch) const override {
    if (batch.training) return batch.flip(params.probability);
    if (params.average) batch.take_views({{0, 0, 0}, {0, 0, 1}}, batch.area(), Border::zero);
  }
};
NEON_REGISTER(Augmentation, Flip, "Swaps right and left in half of the images.");

struct RandomScaleParams {
  SampleSize size;
  std::vector<double> area = {0.08, 1};
  std::vector<double> aspect = {0.75, 4.0 / 3};
  static void describe(auto&& p) {
    p("size", &RandomScaleParams::size, "Side of the result, or [height, width]; 0: as large as the image.",
      closed(0, kMostPixels), Unit{"pixels"});
    p("area", &RandomScaleParams::area, "Least and largest share of the image's area.", open_closed(0, 1));
    p("aspect", &RandomScaleParams::aspect, "Least and largest width of the box by its height.", closed(0.1, 10));
  }
};

struct RandomScale : Parametrized<Augmentation, RandomScaleParams> {
  explicit RandomScale(RandomScaleParams given) : Parametrized(std::move(given)) {
    check_range("area", params.area);
    check_range("aspect", params.aspect);
  }
  void apply(ImageBatch& batch) const override {
    const auto height = double(batch.area().height), width = double(batch.area().width);
    const ImageArea to = params.size.given() ? ImageArea{params.size.height, params.size.width} : batch.area();
    if (!batch.training) return take_middle(batch, to);
    const Expr share = drawn(batch, params.area[0], params.area[1]);
    const Expr aspect = exp(drawn(batch, std::log(params.aspect[0]), std::log(params.aspect[1])));
    const Expr tall = minimum(sqrt(share * (height * width) / aspect), height);
    const Expr wide = minimum(sqrt(share * (height * width) * aspect), width);
    const Expr top = batch.draw() * (height - tall), left = batch.draw() * (width - wide);
    batch.resample(top, left, tall, wide, {height, width}, to);
  }

 private:
  static Expr drawn(ImageBatch& batch, double low, double high) { return batch.draw() * (high - low) + low; }

  // The largest box of the result's shape.
  static void take_middle(ImageBatch& batch, ImageArea to) {
    if (to == batch.area()) return;
    const auto height = double(batch.area().height), width = double(batch.area().width);
    const double scale = std::min(height / double(to.height), width / double(to.width));
    const double tall = scale * double(to.height), wide = scale * double(to.width);
    auto number = [&](double value) { return Expr(batch.graph, batch.graph.constant(value)); };
    batch.resample(number((height - tall) / 2), number((width - wide) / 2), number(tall), number(wide), {tall, wide},
                   to);
  }
};
NEON_REGISTER(Augmentation, RandomScale,
              "Cuts a box of random size, shape and place and scales it to one size; a box of more than twice as many "
              "pixels a side is averaged. An evaluation takes the largest box in the middle.",
              {"RandomResizedCrop"});

}  // namespace

}  // namespace neon
