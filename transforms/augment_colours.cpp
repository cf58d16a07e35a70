// Augmentations of what pixels are: brightness, contrast and colours.
#include <cmath>

#include "transforms/augmentation.h"

namespace neon {

namespace {

struct FactorParams {
  std::vector<double> range = {0.6, 1.4};
  static void describe(auto&& p) {
    p("range", &FactorParams::range, "Least and largest factor; 1 leaves the image as it is.", at_least(0));
  }
};

// A factor for each sample between what is least, `around`, and the image.
class Factor : public Parametrized<Augmentation, FactorParams> {
 public:
  explicit Factor(FactorParams given) : Parametrized(std::move(given)) {
    if (params.range.size() != 2 || params.range[0] > params.range[1])
      fail(ErrorKind::config, "range: expected the least and the largest factor, as in [0.6, 1.4]");
  }
  void apply(ImageBatch& batch) const override {
    check_colours(batch, name());
    if (!batch.training) return;
    const Expr x = batch.values(), low = around(batch, x);
    const Expr factor = batch.draw_for_values() * (params.range[1] - params.range[0]) + params.range[0];
    if (low.value()) batch.set_values((x - low) * cast(factor, x.dtype()) + low);
    else batch.set_values(x * cast(factor, x.dtype()));
  }

 protected:
  virtual const char* name() const = 0;
  // An invalid one is 0.
  virtual Expr around(ImageBatch& batch, Expr x) const = 0;
};

struct Brightness : Factor {
  using Factor::Factor;
  const char* name() const override { return "Brightness"; }
  Expr around(ImageBatch& batch, Expr) const override {
    return batch.black == 0 ? Expr() : batch.by_channel({batch.black});
  }
};
NEON_REGISTER(Augmentation, Brightness, "Multiplies every pixel by a random factor.");

struct Contrast : Factor {
  using Factor::Factor;
  const char* name() const override { return "Contrast"; }
  Expr around(ImageBatch&, Expr x) const override { return mean(x, {1, 2, 3}); }
};
NEON_REGISTER(Augmentation, Contrast, "Multiplies the distance of pixels to the image's mean by a random factor.");

void check_rgb(const ImageBatch& batch, const char* name) {
  if (batch.channels() != 3)
    fail(ErrorKind::config, name, ": is for RGB images, these have ", batch.channels(), " channel(s); leave it out");
}

struct Saturation : Factor {
  using Factor::Factor;
  const char* name() const override { return "Saturation"; }
  Expr around(ImageBatch& batch, Expr x) const override {
    check_rgb(batch, "Saturation");
    return grey(batch, x);
  }
};
NEON_REGISTER(Augmentation, Saturation, "Multiplies the distance of pixels to their grey by a random factor.");

struct ColorNoiseParams {
  double deviation = 0.1;
  static void describe(auto&& p) {
    p("deviation", &ColorNoiseParams::deviation, "Standard deviation of the random weights of the colour components.",
      at_least(0));
  }
};

// "Fancy PCA" of Krizhevsky et al. 2012, section 4.1, with the components of ImageNet's colours from 0, black, to 1,
// white.
struct ColorNoise : Parametrized<Augmentation, ColorNoiseParams> {
  using Parametrized::Parametrized;
  void apply(ImageBatch& batch) const override {
    check_rgb(batch, "ColorNoise");
    check_colours(batch, "ColorNoise");
    if (!batch.training) return;
    static const std::vector<double> kComponents[] = {
        {-0.5675, -0.5808, -0.5836}, {0.7192, -0.0045, -0.6948}, {0.4009, -0.8140, 0.4203}};
    constexpr double kSizes[] = {0.2175, 0.0188, 0.0045};
    const double range = batch.white - batch.black;
    Expr x = batch.values();
    for (size_t k = 0; k < 3; ++k)
      x = x +
          cast(normal(batch), x.dtype()) * (params.deviation * kSizes[k] * range) * batch.by_channel(kComponents[k]);
    batch.set_values(x);
  }

 private:
  // Box and Muller (1958): two uniform numbers become one of mean 0 and deviation 1.
  static Expr normal(ImageBatch& batch) {
    const Expr u = batch.draw_for_values(), v = batch.draw_for_values();
    return sqrt(log(1.0 - u) * -2.0) * neon::apply("cos", v * (2 * M_PI));
  }
};
NEON_REGISTER(Augmentation, ColorNoise, "Shifts colours as those of photographs differ.", {"Lighting"});

}  // namespace

}  // namespace neon
