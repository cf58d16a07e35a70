// Activation as a layer of its own; and neon 1.2's for data, through which no gradient flows.
#include "layers/layer.h"
#include "transforms/activation.h"

namespace neon {

namespace {

struct ActivationLayerParams {
  Made<Activation> transform;
  static void describe(auto&& p) {
    p("transform", &ActivationLayerParams::transform,
      "Activation to apply to every element, as in Activation: Rectlin.", Alias{"activation"}, Required{});
  }
};

struct ActivationLayer : Parametrized<Layer, ActivationLayerParams> {
  using Parametrized::Parametrized;
  Expr forward(LayerContext&, Expr x) const override { return params.transform->apply(x); }
};
const Registration<Layer, ActivationLayer> registration{
    "Activation", "Applies a function to every element.", {"ActivationLayer"}};

struct DataTransform : Parametrized<Layer, ActivationLayerParams> {
  using Parametrized::Parametrized;
  Expr forward(LayerContext& context, Expr x) const override {
    return params.transform->apply({context.graph, context.graph.add("scale_gradient", {x}, {{"factor", 0.0}})});
  }
};
NEON_REGISTER(Layer, DataTransform, "Applies an activation to the data; layers before it are not trained.");

}  // namespace

}  // namespace neon
