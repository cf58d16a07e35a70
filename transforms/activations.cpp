// neon's activations. A class gives the formula in rows of the elementwise table; derivatives follow.
#include "transforms/activation.h"

namespace neon {

namespace {

struct Identity : Parametrized<Activation, NoParams> {
  using Parametrized::Parametrized;
  Expr apply(ActivationContext&, Expr x) const override { return x; }
};
NEON_REGISTER(Activation, Identity, "x.", {"Linear"});

struct RectlinParams {
  double slope = 0;
  static void describe(auto&& p) { p("slope", &RectlinParams::slope, "Factor of negative inputs.", at_least(0)); }
};
struct Rectlin : Parametrized<Activation, RectlinParams> {
  using Parametrized::Parametrized;
  Expr apply(ActivationContext&, Expr x) const override {
    return params.slope == 0 ? neon::apply("relu", x) : neon::apply("leaky_relu", x, x.constant(params.slope));
  }
  bool rectifies() const override { return true; }
};
NEON_REGISTER(Activation, Rectlin, "max(x, 0) + slope min(x, 0).", {"RectLin", "ReLU", "Relu"});

struct RectLeakyParams : RectlinParams {
  RectLeakyParams() { slope = 0.01; }
  static void describe(auto&& p) { RectlinParams::describe(p); }
};
struct RectLeaky : Parametrized<Activation, RectLeakyParams> {
  using Parametrized::Parametrized;
  Expr apply(ActivationContext&, Expr x) const override {
    return neon::apply("leaky_relu", x, x.constant(params.slope));
  }
  bool rectifies() const override { return true; }
};
NEON_REGISTER(Activation, RectLeaky, "Rectlin with a slope of 0.01 by default, as neon 0.9 had it.", {"LeakyReLU"});

struct PReLUParams {
  double slope = 0.25;
  bool shared = false;
  static void describe(auto&& p) {
    p("slope", &PReLUParams::slope,
      "Factor of negative inputs at the start; training then learns it. Weight decay acts on it, too, unless a "
      "MultiOptimizer gives PReLU an optimizer of its own.");
    p("shared", &PReLUParams::shared,
      "Learns one slope for the whole layer instead of one for each feature or feature map.");
  }
};
struct PReLU : Parametrized<Activation, PReLUParams> {
  using Parametrized::Parametrized;
  Expr apply(ActivationContext& context, Expr x) const override {
    const int64_t slopes = params.shared || x.shape().rank() < 2 ? 1 : x.shape().back();
    return neon::apply("leaky_relu", x, context.learned({"slope", "PReLU", {slopes}, params.slope}));
  }
  bool rectifies() const override { return true; }
};
NEON_REGISTER(Activation, PReLU, "max(x, 0) + slope min(x, 0) with learned slopes (He et al. 2015).");

struct RReLUParams {
  double lower = 1.0 / 8, upper = 1.0 / 3;
  static void describe(auto&& p) {
    p("lower", &RReLUParams::lower, "Smallest slope that training draws.", at_least(0));
    p("upper", &RReLUParams::upper, "Largest slope that training draws.", at_least(0));
  }
};
struct RReLU : Parametrized<Activation, RReLUParams> {
  explicit RReLU(RReLUParams given) : Parametrized(given) {
    if (params.lower > params.upper)
      fail(ErrorKind::config, "lower ", params.lower, " is above upper ", params.upper, "; exchange the two");
  }
  Expr apply(ActivationContext& context, Expr x) const override {
    if (!context.training()) return neon::apply("leaky_relu", x, x.constant((params.lower + params.upper) / 2));
    const Expr slope = context.draw("slope", x.shape()) * (params.upper - params.lower) + params.lower;
    return neon::apply("leaky_relu", x, cast(slope, x.dtype()));
  }
  bool rectifies() const override { return true; }
};
NEON_REGISTER(Activation, RReLU,
              "max(x, 0) + slope min(x, 0) (Xu et al. 2015). In training, each number has a slope drawn uniformly from "
              "lower to upper; the evaluation takes their mean.");

struct RectlinclipParams {
  double xcut = 20;
  double slope = 0;
  static void describe(auto&& p) {
    p("xcut", &RectlinclipParams::xcut, "Largest output.", above(0));
    p("slope", &RectlinclipParams::slope, "Factor of negative inputs.", at_least(0));
  }
};
struct Rectlinclip : Parametrized<Activation, RectlinclipParams> {
  using Parametrized::Parametrized;
  Expr apply(ActivationContext&, Expr x) const override {
    return neon::apply("relu_clip", x, x.constant(params.slope), x.constant(params.xcut));
  }
  bool rectifies() const override { return true; }
};
NEON_REGISTER(Activation, Rectlinclip, "min(max(x, 0) + slope min(x, 0), xcut).");

struct ExplinParams {
  double alpha = 1;
  static void describe(auto&& p) { p("alpha", &ExplinParams::alpha, "Depth of the negative side.", at_least(0)); }
};
struct Explin : Parametrized<Activation, ExplinParams> {
  using Parametrized::Parametrized;
  Expr apply(ActivationContext&, Expr x) const override { return neon::apply("elu", x, x.constant(params.alpha)); }
  bool rectifies() const override { return true; }
};
NEON_REGISTER(Activation, Explin, "x where positive, alpha (e^x - 1) elsewhere (Clevert et al. 2016).", {"ELU"});

struct NormalizerParams {
  double divisor = 128;
  static void describe(auto&& p) { p("divisor", &NormalizerParams::divisor, "Number to divide x by.", above(0)); }
};
struct Normalizer : Parametrized<Activation, NormalizerParams> {
  using Parametrized::Parametrized;
  Expr apply(ActivationContext&, Expr x) const override { return x / params.divisor; }
};
NEON_REGISTER(Activation, Normalizer, "x / divisor.");

struct Tanh : Parametrized<Activation, NoParams> {
  using Parametrized::Parametrized;
  Expr apply(ActivationContext&, Expr x) const override { return neon::apply("tanh", x); }
};
NEON_REGISTER(Activation, Tanh, "Hyperbolic tangent.");

// neon's `shortcut` told the backward pass to leave out the derivative, right only before CrossEntropyBinary. Here
// the pair is rewritten to its form on logits by itself, so the switch is accepted and has nothing left to do.
struct LogisticParams {
  bool shortcut = false;
  static void describe(auto&& p) {
    p("shortcut", &LogisticParams::shortcut, "Accepted for neon 1.x's specs; the shortcut is always found.");
  }
};
struct Logistic : Parametrized<Activation, LogisticParams> {
  using Parametrized::Parametrized;
  Expr apply(ActivationContext&, Expr x) const override { return neon::apply("logistic", x); }
};
NEON_REGISTER(Activation, Logistic, "1 / (1 + e^-x).", {"Sigmoid"});

// neon's gradient was the straight-through estimator of Courbariaux et al. 2016 (BinaryNet): 1 where |x| <= 1.
struct Sign : Parametrized<Activation, NoParams> {
  using Parametrized::Parametrized;
  Expr apply(ActivationContext&, Expr x) const override { return neon::apply("sign_ste", x); }
};
NEON_REGISTER(Activation, Sign, "1 where x >= 0, else -1; straight-through gradient where |x| <= 1.");

// neon's only axis was the features' and its epsilon was never read; both are accepted and have nothing left to do.
struct SoftmaxParams {
  int64_t axis = 0;
  double epsilon = 0;
  static void describe(auto&& p) {
    p("axis", &SoftmaxParams::axis, "Accepted for neon 1.x's specs: 0, the features.", closed(0, 0));
    p("epsilon", &SoftmaxParams::epsilon, "Accepted for neon 1.x's specs; nothing is added.", at_least(0));
  }
};
struct Softmax : Parametrized<Activation, SoftmaxParams> {
  using Parametrized::Parametrized;
  Expr apply(ActivationContext&, Expr x) const override {
    const Shape shape = x.shape();
    Expr rows = reshape(x, {shape[0], shape.slice(1, shape.rank()).elements()});
    return reshape(Expr(x.graph(), x.graph().add("softmax", {rows})), shape);
  }
  bool mixes() const override { return true; }
};
NEON_REGISTER(Activation, Softmax,
              "e^x over the sum of e^x of all features of the sample, or of each step of a sequence.");

struct PixelwiseSoftmaxParams {
  int64_t c = 0;
  double epsilon = 0;
  static void describe(auto&& p) {
    p("c", &PixelwiseSoftmaxParams::c, "Classes of a pixel: its channels, or groups of them.", at_least(1), Required{});
    p("epsilon", &PixelwiseSoftmaxParams::epsilon, "Accepted for neon 1.x's specs; nothing is added.", at_least(0));
  }
};
// x (N,...,C): of C / c channels to a group, the k-th of all groups exclude each other. In rows (N,C H W) those are the
// pixels.
struct PixelwiseSoftmax : Parametrized<Activation, PixelwiseSoftmaxParams> {
  using Parametrized::Parametrized;
  Expr apply(ActivationContext&, Expr x) const override {
    const Shape shape = x.shape();
    if (shape.back() % params.c)
      fail(ErrorKind::config, "PixelwiseSoftmax: ", shape.back(), " channels do not go into c, ", params.c,
           " groups, evenly");
    const int64_t pixels = shape.slice(0, shape.rank() - 1).elements(), each = shape.back() / params.c;
    const auto swapped = [](Expr y) { return Expr(y.graph(), transpose(y.graph(), y, {0, 2, 1})); };
    Expr groups = reshape(x, {pixels, params.c, each});
    if (each > 1) groups = swapped(groups);
    const Expr rows = reshape(groups, {pixels * each, params.c});
    Expr y(x.graph(), x.graph().add("softmax", {rows}));
    if (each > 1) y = swapped(reshape(y, {pixels, each, params.c}));
    return reshape(y, shape);
  }
  bool mixes() const override { return true; }
};
NEON_REGISTER(Activation, PixelwiseSoftmax,
              "e^x over the sum of e^x of the classes of each pixel, for targets with a class for each.");

struct SoftPlus : Parametrized<Activation, NoParams> {
  using Parametrized::Parametrized;
  Expr apply(ActivationContext&, Expr x) const override { return neon::apply("softplus", x); }
  bool rectifies() const override { return true; }
};
NEON_REGISTER(Activation, SoftPlus, "log(1 + e^x).");

struct GeluParams {
  bool tanh = false;
  static void describe(auto&& p) {
    p("tanh", &GeluParams::tanh,
      "Whether to take the form x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), as GPT-2 has it.");
  }
};
struct Gelu : Parametrized<Activation, GeluParams> {
  using Parametrized::Parametrized;
  Expr apply(ActivationContext&, Expr x) const override { return neon::apply(params.tanh ? "gelu_tanh" : "gelu", x); }
  bool rectifies() const override { return true; }
};
NEON_REGISTER(Activation, Gelu, "x times the normal distribution's share below x (Hendrycks and Gimpel 2016).",
              {"GELU"});

struct Mish : Parametrized<Activation, NoParams> {
  using Parametrized::Parametrized;
  Expr apply(ActivationContext&, Expr x) const override { return x * neon::apply("tanh", neon::apply("softplus", x)); }
  bool rectifies() const override { return true; }
};
NEON_REGISTER(Activation, Mish, "x tanh(log(1 + e^x)) (Misra 2019).");

// The fixed point of mean 0 and variance 1: appendix 1 of Klambauer et al. 2017.
struct Selu : Parametrized<Activation, NoParams> {
  using Parametrized::Parametrized;
  Expr apply(ActivationContext&, Expr x) const override {
    return neon::apply("elu", x, x.constant(1.6732632423543772848)) * 1.0507009873554804934;
  }
};
NEON_REGISTER(Activation, Selu,
              "1.0507 x where positive, 1.7581 (e^x - 1) elsewhere: outputs keep mean 0 and deviation 1 (Klambauer et "
              "al. 2017).",
              {"SELU"});

// x / 6 + 1/2, from 0 to 1
Expr piecewise_logistic(Expr x) { return neon::apply("hard_sigmoid", x, x.constant(1.0 / 6), x.constant(0.5)); }

struct HardLogistic : Parametrized<Activation, NoParams> {
  using Parametrized::Parametrized;
  Expr apply(ActivationContext&, Expr x) const override { return piecewise_logistic(x); }
};
NEON_REGISTER(Activation, HardLogistic, "x / 6 + 1/2, cut at 0 and 1: Logistic in straight lines.", {"HardSigmoid"});

struct HardSwish : Parametrized<Activation, NoParams> {
  using Parametrized::Parametrized;
  Expr apply(ActivationContext&, Expr x) const override { return x * piecewise_logistic(x); }
  bool rectifies() const override { return true; }
};
NEON_REGISTER(Activation, HardSwish, "x times HardLogistic of x (Howard et al. 2019).");

struct Swish : Parametrized<Activation, NoParams> {
  using Parametrized::Parametrized;
  Expr apply(ActivationContext&, Expr x) const override { return neon::apply("swish", x); }
  bool rectifies() const override { return true; }
};
NEON_REGISTER(Activation, Swish, "x / (1 + e^-x) (Ramachandran et al. 2017).", {"SiLU"});

}  // namespace

}  // namespace neon
