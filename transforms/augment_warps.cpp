// Augmentations that turn and slant images about their middle. Beyond the border lie the outermost pixels.
#include <cmath>

#include "transforms/augmentation.h"

namespace neon {

namespace {

// A number of each sample (N,1) from -most to most.
Expr to_either_side(ImageBatch& batch, double most) { return batch.draw() * (2 * most) - most; }

struct RotationParams {
  double angle = 15;
  static void describe(auto&& p) {
    p("angle", &RotationParams::angle, "Largest angle, to either side.", closed(0, 180), Unit{"degrees"});
  }
};

struct Rotation : Parametrized<Augmentation, RotationParams> {
  using Parametrized::Parametrized;
  void apply(ImageBatch& batch) const override {
    if (!batch.training) return;
    const Expr angle = to_either_side(batch, params.angle * M_PI / 180);
    const Expr cosine = neon::apply("cos", angle), sine = neon::apply("sin", angle), zero = angle.constant(0);
    batch.warp({cosine, sine, -sine, cosine}, {zero, zero});
  }
};
NEON_REGISTER(Augmentation, Rotation, "Turns images about their middle by a random angle.",
              {"RandomRotation", "Rotate"});

struct ShearParams {
  double across = 0.2, down = 0;
  static void describe(auto&& p) {
    p("across", &ShearParams::across,
      "Largest distance, to either side, by which a row is moved against the row above it, in pixels.", closed(0, 4));
    p("down", &ShearParams::down, "The same for columns, up or down.", closed(0, 4));
  }
};

struct Shear : Parametrized<Augmentation, ShearParams> {
  using Parametrized::Parametrized;
  void apply(ImageBatch& batch) const override {
    if (!batch.training) return;
    const Expr across = to_either_side(batch, params.across), down = to_either_side(batch, params.down);
    const Expr one = across.constant(1), zero = across.constant(0);
    batch.warp({one, down, across, one}, {zero, zero});
  }
};
NEON_REGISTER(Augmentation, Shear, "Slants images about their middle by a random distance.", {"RandomShear"});

}  // namespace

}  // namespace neon
