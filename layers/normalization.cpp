// Normalisation by what lies around: LRN over neighbouring feature maps (Krizhevsky et al. 2012), and 0.9's local
// contrast over neighbouring pixels. Sums are of windows, so they are poolings in which padding counts.
#include "backends/graph/op.h"
#include "layers/images.h"

namespace neon {

namespace {

// The windows of `size` numbers an axis that lie around each element, as many as there are elements.
Attributes windows_around(const std::vector<int64_t>& size) {
  std::vector<int64_t> padding;
  for (int64_t n : size) {
    padding.push_back(n / 2);
    padding.push_back(n - 1 - n / 2);
  }
  return {{"window", size}, {"strides", std::vector<int64_t>(size.size(), 1)}, {"padding", padding}};
}

Expr mean_around(Expr x, const std::vector<int64_t>& size, bool count_padding) {
  const Attributes attributes = windows_around(size).with("count_padding", int64_t(count_padding));
  return {x.graph(), x.graph().add("pool_avg", {x}, attributes)};
}

// x / (1 + scale * mean)^power, in the type of the arithmetic: squares of 16-bit numbers may be beyond their range.
Expr divided(Expr x, Expr mean_of_squares, double scale, double power) {
  Expr base = mean_of_squares * scale + 1.0;
  return cast(cast(x, base.dtype()) * apply("pow", base, base.constant(-power)), x.dtype());
}

// Sizes of a window over feature maps alone.
std::vector<int64_t> maps_alone(Expr x, int64_t depth) {
  std::vector<int64_t> size(size_t(axes_of_space(x, "LRN")), 1);
  size.push_back(depth);
  return size;
}

// y = x / (1 + ascale / depth * sum x^2)^bpower
Expr over_maps(Expr x, int64_t depth, double ascale, double bpower) {
  Expr wide = cast(x, compute_type(x.dtype()));
  return divided(x, mean_around(square(wide), maps_alone(x, depth), true), ascale, bpower);
}

struct LrnParams {
  int64_t depth = 5;
  double alpha = 1, beta = 0, ascale = 1, bpower = 1;
  static void describe(auto&& p) {
    p("depth", &LrnParams::depth, "Number of neighbouring feature maps, odd.", at_least(1), Required{});
    p("alpha", &LrnParams::alpha, "Factor of the result.");
    p("beta", &LrnParams::beta, "Accepted for neon 1.x's specs; must be 0.", closed(0, 0));
    p("ascale", &LrnParams::ascale, "Factor of the mean of squares.", at_least(0));
    p("bpower", &LrnParams::bpower, "Power of the divisor.", at_least(0));
  }
};
struct LRN : Parametrized<Layer, LrnParams> {
  explicit LRN(LrnParams given) : Parametrized(given) {
    if (params.depth % 2 == 0)
      fail(ErrorKind::config, "depth ", params.depth, " is even: a map would have more neighbours on one side");
  }
  Expr forward(LayerContext&, Expr x) const override {
    Expr y = over_maps(x, params.depth, params.ascale, params.bpower);
    return params.alpha == 1 ? y : y * params.alpha;
  }
};
NEON_REGISTER(
    Layer, LRN,
    "Local response normalization: x (1 + ascale mean(x^2))^-bpower, the mean over neighbouring feature maps.");

// 0.9's names for the same, and its windows of even size.
struct ResponseParams {
  int64_t ksize = 1;
  double alpha = 0, beta = 0;
  static void describe(auto&& p) {
    p("ksize", &ResponseParams::ksize, "Number of neighbours, the map or pixel itself included.", at_least(1),
      Required{});
    p("alpha", &ResponseParams::alpha, "Factor of the mean of squares.", at_least(0), Required{});
    p("beta", &ResponseParams::beta, "Power of the divisor.", at_least(0), Required{});
  }
};
struct CrossMapResponseNorm : Parametrized<Layer, ResponseParams> {
  using Parametrized::Parametrized;
  Expr forward(LayerContext&, Expr x) const override { return over_maps(x, params.ksize, params.alpha, params.beta); }
};
NEON_REGISTER(Layer, CrossMapResponseNorm, "LRN with neon 0.9's names of its parameters.",
              {"CrossMapResponseNormLayer"});

// As 0.9 had it: the divisor is of centred numbers, what is divided is not.
struct LocalContrastNorm : Parametrized<Layer, ResponseParams> {
  using Parametrized::Parametrized;
  Expr forward(LayerContext&, Expr x) const override {
    std::vector<int64_t> size(size_t(axes_of_space(x, "local contrast normalisation")), params.ksize);
    size.push_back(1);
    Expr wide = cast(x, compute_type(x.dtype()));
    Expr centred = wide - mean_around(wide, size, false);
    return divided(x, mean_around(square(centred), size, true), params.alpha, params.beta);
  }
};
NEON_REGISTER(Layer, LocalContrastNorm,
              "Local contrast normalization: x (1 + alpha mean(d^2))^-beta, d the distance from the mean of the "
              "surrounding pixels.",
              {"LocalContrastNormLayer"});

}  // namespace

}  // namespace neon
