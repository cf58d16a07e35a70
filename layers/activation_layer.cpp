// Activation as a layer of its own.
#include "layers/layer.h"
#include "transforms/activation.h"

namespace neon {

namespace {

struct ActivationLayerParams {
  Made<Activation> transform;
  static void describe(auto&& p) {
    p("transform", &ActivationLayerParams::transform, "The function.", Alias{"activation"}, Required{});
  }
};

struct ActivationLayer : Parametrized<Layer, ActivationLayerParams> {
  using Parametrized::Parametrized;
  Expr forward(LayerContext&, Expr x) const override { return params.transform->apply(x); }
};
const Registration<Layer, ActivationLayer> registration{
    "Activation", "Applies a function to every element.", {"ActivationLayer"}};

}  // namespace

}  // namespace neon
