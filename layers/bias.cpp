// Bias: one number added to each feature; to each feature map where there are pixels.
#include "layers/default_init.h"
#include "layers/linear.h"
#include "layers/split_linear.h"

namespace neon {

Expr bias(LayerContext& context, Expr x, const Initializer& init, const std::string& name) {
  const int64_t features = features_of(context, x);
  const Expr b = feature_parameter(context, x,
                                   {.name = name + "/b",
                                    .layer = name,
                                    .layer_class = "Bias",
                                    .shape = {features},
                                    .initializer = &init,
                                    .fan = {.out = features, .rows = features}});
  if (context.split.has(x)) return of_each_part(context, x, [&](Expr part) { return part + b; });
  // Steps of a sequence are rows of the product that made them, which then takes the bias along.
  const Shape shape = x.shape();
  const Expr y = shape.rank() == 3 ? reshape(reshape(x, {shape[0] * shape[1], features}) + b, shape) : x + b;
  context.keep_axes(x, y);
  return y;
}

Expr bias_of_places(LayerContext& context, Expr x, const Initializer& init) {
  if (context.is_sequence(x))
    fail(ErrorKind::config, "shared_bias: false is for images and volumes; steps of sequences have their biases in ",
         "common, leave it out");
  const std::string name = context.layer + "_bias";
  const Shape one = x.shape().with(0, 1);
  const Expr b = context.parameter({.name = name + "/b",
                                    .layer = name,
                                    .layer_class = "Bias",
                                    .shape = {one.elements()},
                                    .initializer = &init,
                                    .fan = {.out = one.elements(), .rows = one.elements()}});
  return x + reshape(b, one);
}

namespace {

struct BiasParams {
  Made<Initializer> init;
  static void describe(auto&& p) { p("init", &BiasParams::init, "Initializer of the numbers added. Default: 0."); }
};

struct Bias : Parametrized<Layer, BiasParams> {
  explicit Bias(BiasParams given) : Parametrized(std::move(given)) {
    params.init = init_or_default(params.init, WeightUse::shift);
  }
  Expr forward(LayerContext& context, Expr x) const override { return bias(context, x, *params.init, context.layer); }
  bool takes_split() const override { return true; }
};
NEON_REGISTER(Layer, Bias, "Adds a trained number to each feature or feature map.");

}  // namespace

}  // namespace neon
