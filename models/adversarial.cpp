#include "models/adversarial.h"

#include <cmath>

#include "models/rule_ranks.h"
#include "neon/core/counted.h"

namespace neon {

GenerativeAdversarial::GenerativeAdversarial(GenerativeAdversarialParams given)
    : Parametrized(std::move(given)), chains_{params.generator, params.discriminator} {
  if (params.noise.size() != 1 && params.noise.size() != 3)
    fail(ErrorKind::config, "noise has ", counted(int64_t(params.noise.size()), "number"),
         "; expected one, of features, or [C, H, W]");
}

Expr GenerativeAdversarial::noise(LayerContext& context, const std::string& name, int64_t samples) const {
  Shape shape{samples};
  if (params.noise.size() == 1) shape = shape.concat({params.noise[0]});
  else shape = shape.concat({params.noise[1], params.noise[2], params.noise[0]});
  const auto draw = [&](const char* which) {
    return cast(draws_of_samples(context, shape, name + which), context.arithmetic_dtype);
  };
  if (params.noise_type == "uniform") return cast(2.0 * draw("/noise") - 1.0, context.dtype);
  // Box and Muller (1958): 1 - u is in (0, 1].
  const Expr radius = sqrt(-2.0 * log(1.0 - draw("/noise"))), angle = 2 * M_PI * draw("/angle");
  return cast(radius * apply("cos", angle), context.dtype);
}

namespace {

NEON_REGISTER(
    Layer, GenerativeAdversarial,
    "A generator, which makes samples of noise, and a discriminator, which tells them from real ones. It is the "
    "one layer of a spec whose rule is Adversarial. The net's output is the discriminator's for a sample.",
    {"GAN"});

}  // namespace

}  // namespace neon
