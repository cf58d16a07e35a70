// Global contrast normalisation: in training and in evaluations alike, so that neon predict does it, too.
#include "transforms/augmentation.h"

namespace neon {

namespace {

struct ContrastNormalizeParams {
  double scale = 55;
  static void describe(auto&& p) {
    p("scale", &ContrastNormalizeParams::scale,
      "Length of the result, as a vector of all its numbers: 55 is about a deviation of 1 for 32 x 32 RGB pixels.",
      above(0));
  }
};

// Goodfellow et al., Maxout Networks (2013), section 5.2, as neon 1.x did it for CIFAR10: x - mean(x), divided by its
// length / scale; a length / scale below 1e-8 is taken for 1, so that an image of one colour becomes 0.
struct ContrastNormalize : Parametrized<Augmentation, ContrastNormalizeParams> {
  using Parametrized::Parametrized;
  void apply(ImageBatch& batch) const override {
    if (!batch.means.empty())
      fail(
          ErrorKind::config,
          "ContrastNormalize: makes the mean of each image 0, so normalize has no means of channels to subtract; leave "
          "one of the two out");
    const Expr x = batch.values(), centred = x - mean(x, {1, 2, 3});
    const Expr length = sqrt(sum(square(centred), {1, 2, 3})) * (1 / params.scale);
    const Expr flat = neon::apply("less", length, length.constant(1e-8));
    batch.set_values(centred / neon::apply("select", flat, length.constant(1), length));
    batch.recoded_by = "ContrastNormalize";
  }
};
NEON_REGISTER(Augmentation, ContrastNormalize,
              "Subtracts from each image its mean and divides the image by its length, in an evaluation, too, as "
              "contrast_normalize of neon 1.x did. Augmentations of colours stand before ContrastNormalize.",
              {"GlobalContrastNormalization"});

}  // namespace

}  // namespace neon
