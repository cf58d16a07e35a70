// ZCA whitening of whole images, in training and in evaluations alike, by a matrix that is learned from the training
// images before the first step. The matrix is a variable of the step, so that checkpoints keep it.
#include "backends/variables.h"
#include "transforms/augmentation.h"
#include "transforms/zca.h"

namespace neon {

namespace {

// The matrix has the square of so many numbers: 64 x 64 pixels of three colours take 600 MB in f32.
constexpr int64_t kMostNumbers = 64 * 64 * 3;

struct WhitenParams {
  double bias = 0.1;
  static void describe(auto&& p) {
    p("bias", &WhitenParams::bias,
      "Added to the variance of every direction, in the squared range of the images, so that directions of little "
      "variance are not blown up. neon 1.x had 0.1, for images of ContrastNormalize.",
      above(0));
  }
};

// (x - mean) (covariance + bias I)^(-1/2), as neon 1.x did it for CIFAR10.
struct Whiten : Parametrized<Augmentation, WhitenParams> {
  using Parametrized::Parametrized;
  static constexpr const char* kName = "Whiten";
  static std::string variable(const char* name) { return text(kLearned, kName, "/", name); }

  void apply(ImageBatch& batch) const override {
    if (!batch.means.empty())
      fail(
          ErrorKind::config,
          "Whiten: makes the mean of each pixel 0, so normalize has no means of channels to subtract; leave one of the "
          "two out");
    if (batch.recoded_by == kName)
      fail(ErrorKind::config, "Whiten: the images are whitened already; leave the second Whiten out");
    const Expr x = batch.values();
    const Shape shape = x.shape();
    const int64_t n = shape.elements() / shape[0];
    if (n > kMostNumbers)
      fail(ErrorKind::config, "Whiten: is for images of at most ", kMostNumbers, " numbers, these have ", n,
           "; scale or cut them first");
    const Expr mean(x.graph(), x.graph().variable(variable("mean"), x.dtype(), {n}));
    const Expr matrix(x.graph(), x.graph().variable(variable("matrix"), x.dtype(), {n, n}));
    const Expr centred = Expr(x.graph(), reshape(x.graph(), x, {shape[0], n})) - mean;
    batch.set_values({x.graph(), reshape(x.graph(), matmul(x.graph(), centred, matrix), shape)});
    batch.recoded_by = kName;
  }

  bool learns() const override { return true; }
  void learn(const ImageMoments& images, Variables& variables) const override {
    const std::vector<double> matrix = zca_matrix(images.covariance, int64_t(images.mean.size()), params.bias);
    const auto fill = [](Tensor& into, const std::vector<double>& from) {
      for (size_t i = 0; i < from.size(); ++i) into.set(int64_t(i), from[i]);
    };
    fill(variables.at(variable("mean")), images.mean);
    fill(variables.at(variable("matrix")), matrix);
  }
};
NEON_REGISTER(Augmentation, Whiten,
              "Decorrelates the pixels of the training images (ZCA), and changes those of an evaluation alike. neon "
              "learns the matrix from the training images at the start and keeps it in checkpoints. Augmentations of "
              "colours stand before Whiten.",
              {"ZCA", "ZCAWhitening"});

}  // namespace

}  // namespace neon
