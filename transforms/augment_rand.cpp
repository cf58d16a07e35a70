// RandAugment (Cubuk et al. 2020): some changes of each image, drawn from a list, all of one strength.
#include <cmath>

#include "transforms/augmentation.h"

namespace neon {

namespace {

constexpr double kMostMagnitude = 30;  // of the paper's scale

struct RandAugmentParams {
  int64_t count = 2;
  double magnitude = 9;
  static void describe(auto&& p) {
    p("count", &RandAugmentParams::count, "Changes of an image, one after the other.", closed(1, 16));
    p("magnitude", &RandAugmentParams::magnitude, "Strength of all changes.", closed(0, kMostMagnitude));
  }
};

// The changes with the paper's strengths at magnitude 30; an evaluation changes nothing.
enum Change {
  nothing,
  shear_across,   // by 0.3 pixels for each row
  shear_down,     // by 0.3 pixels for each column
  move_across,    // by 150/331 of the width
  move_down,      // by 150/331 of the height
  turn,           // by 30 degrees
  brightness,     // by a factor of 1.9, or 0.1
  colour,         // the same about the grey of each pixel
  contrast,       // the same about the image's mean grey
  posterize,      // to 4 of 8 bits
  solarize,       // pixels from a threshold on, which is 0 then, are inverted
  auto_contrast,  // the darkest pixel of a channel becomes black, the lightest white
  kChanges
};

class RandAugment : public Parametrized<Augmentation, RandAugmentParams> {
 public:
  using Parametrized::Parametrized;
  void apply(ImageBatch& batch) const override {
    check_colours(batch, "RandAugment");
    if (!batch.training) return;
    if (!batch.of_bytes)
      fail(ErrorKind::config, "RandAugment: is for images of bytes, whose black and white are known; these samples ",
           "are of another type");
    for (int64_t i = 0; i < params.count; ++i) {
      const Expr which = neon::apply("floor", batch.draw() * double(kChanges)), u = batch.draw();
      const Expr side = neon::apply("select", neon::apply("less", u, u.constant(0.5)), u.constant(1), u.constant(-1));
      move(batch, which, side * strength());
      const auto for_values = [](Expr x) { return reshape(x, {x.shape()[0], 1, 1, 1}); };
      recolour(batch, for_values(which), for_values(side * (0.9 * strength()) + 1.0));
    }
  }

 private:
  double strength() const { return params.magnitude / kMostMagnitude; }

  static Expr is(Expr which, Change change) { return neon::apply("equal", which, which.constant(change)); }

  // size (N,1): the strength, to either side.
  static void move(ImageBatch& batch, Expr which, Expr size) {
    const auto of = [&](Change change, double most) { return is(which, change) * size * most; };
    const Expr angle = of(turn, M_PI / 6);
    const Expr cosine = neon::apply("cos", angle), sine = neon::apply("sin", angle);
    const double height = double(batch.area().height), width = double(batch.area().width);
    batch.warp({cosine, sine + of(shear_down, 0.3), of(shear_across, 0.3) - sine, cosine},
               {of(move_down, 150 * height / 331), of(move_across, 150 * width / 331)});
  }

  // which, factor (N,1,1,1); the results stay between black and white.
  void recolour(ImageBatch& batch, Expr which, Expr factor) const {
    const Expr x = batch.values();
    const Expr black = x.constant(batch.black), white = x.constant(batch.white);
    Expr y = x;
    const auto choose = [&](Change change, Expr changed) {
      y = neon::apply("select", cast(is(which, change), x.dtype()), neon::apply("clip", changed, black, white), y);
    };
    const auto away_from = [&](Expr low) { return (x - low) * cast(factor, x.dtype()) + low; };
    const Expr greys = grey(batch, x);
    choose(brightness, away_from(black));
    choose(colour, away_from(greys));
    choose(contrast, away_from(mean(greys, {1, 2})));
    choose(posterize, posterized(x, black, white));
    const Expr threshold = white - (white - black) * strength();
    choose(solarize, neon::apply("select", neon::apply("less", x, threshold), x, white + black - x));
    const Expr least = reduce("min", x, {1, 2}), range = max(x, {1, 2}) - least;
    const Expr stretched = (x - least) / range * (white - black) + black;
    choose(auto_contrast, neon::apply("select", range, stretched, x));
    batch.set_values(y);
  }

  // x in whole steps of 2^k of 256.
  Expr posterized(Expr x, Expr black, Expr white) const {
    const double step = std::exp2(std::round(4 * strength()));
    const Expr byte = (x - black) / (white - black) * 255.0;
    return neon::apply("floor", (byte + 0.001) / step) * (step / 255) * (white - black) + black;
  }
};
NEON_REGISTER(Augmentation, RandAugment,
              "Changes each image `count` times by one of twelve ways, drawn anew (Cubuk et al. 2020): slants, shifts, "
              "turns, brightness, colour, contrast, fewer bits, inverted lights, stretched contrast, or nothing. The "
              "paper's Sharpness and Equalize are not among them.");

}  // namespace

}  // namespace neon
