// GaussianNoise: while training, adds to each input a number of its own from a normal distribution (Bishop 1995). An
// evaluation changes nothing. New draws in every step, keyed by seed, step, layer and element, as Dropout has them.
#include <cmath>

#include "layers/split_linear.h"

namespace neon {

namespace {

struct GaussianNoiseParams {
  double deviation = 0.1;
  static void describe(auto&& p) {
    p("deviation", &GaussianNoiseParams::deviation,
      "Standard deviation of the noise, whose mean is 0, in the inputs' units. Only training has noise.", at_least(0),
      Alias{"stddev"}, Alias{"sigma"});
  }
};

struct GaussianNoise : Parametrized<Layer, GaussianNoiseParams> {
  using Parametrized::Parametrized;
  WayOfZeros way_of_zeros() const override { return WayOfZeros::kept; }
  Expr forward(LayerContext& context, Expr x) const override {
    if (params.deviation == 0 || !context.training) return x;
    const std::string radius = context.layer + "/noise", angle = context.layer + "/angle";
    if (!context.split.has(x))
      return noisy(x, draw_for_samples(context, x.shape(), radius), draw_for_samples(context, x.shape(), angle));
    const std::vector<Expr> u = draws_for_features(context, x, radius), v = draws_for_features(context, x, angle);
    size_t number = 0;
    return of_each_part(context, x, [&](Expr part) {
      const size_t k = number++;
      return noisy(part, u[k], v[k]);
    });
  }
  bool takes_split() const override { return true; }

 private:
  // Box and Muller (1958): two uniform numbers become one of mean 0 and deviation 1.
  Expr noisy(Expr x, Expr u, Expr v) const {
    const Expr normal = sqrt(log(1.0 - u) * -2.0) * neon::apply("cos", v * (2 * M_PI));
    return x + cast(normal * params.deviation, x.dtype());
  }
};
NEON_REGISTER(Layer, GaussianNoise, "Adds random numbers of a normal distribution to its inputs during training.");

}  // namespace

}  // namespace neon
