// Activations in layers, Activation as a layer of its own, and neon 1.2's for data, through which no gradient flows.
#include "backends/graph/op.h"
#include "backends/graph/ops.h"
#include "layers/linear.h"
#include "layers/split_linear.h"

namespace neon {

namespace {

// A layer of the net, for its activation.
class OfLayer : public ActivationContext {
 public:
  OfLayer(LayerContext& context, std::string name) : context_(context), name_(std::move(name)) {}
  bool training() const override { return context_.training; }
  Expr learned(const LearnedNumbers& numbers) override {
    return context_.parameter({.name = name_ + "/" + numbers.name,
                               .layer = name_,
                               .layer_class = numbers.kind,
                               .shape = numbers.shape,
                               .fill = numbers.begin,
                               .fan = {1, numbers.shape.elements()}});
  }
  Expr draw(const std::string& name, const Shape& shape) override {
    return draw_for_samples(context_, shape, name_ + "/" + name);
  }

 private:
  LayerContext& context_;
  const std::string name_;
};

}  // namespace

Expr activate(LayerContext& context, Expr x, const Made<Activation>& activation, const std::string& name) {
  if (!activation) return x;
  OfLayer of_layer(context, name);
  if (context.split.has(x)) {
    if (is_of_elements(*activation, x.dtype())) {
      const Expr y = of_each_part(context, x, [&](Expr part) { return activation->apply(of_layer, part); });
      if (y.value() != x.value()) context.split.note_activation(y, x, *activation);
      return y;
    }
    const Expr whole = own_samples(context, x), rows = as_steps(context, whole);
    const Expr y = activation->apply(of_layer, rows), out = in_sequence(context, y, whole);
    const Node& made = context.graph.producer(y);
    if (made.op->is(ops::softmax) && made.inputs[0] == rows.value()) context.split.note_softmax(out, x);
    return out;
  }
  return in_sequence(context, activation->apply(of_layer, as_steps(context, x)), x);
}

Expr activate(LayerContext& context, Expr x, const Made<Activation>& activation) {
  return activate(context, x, activation, context.layer + "_act");
}

namespace {

struct ActivationLayerParams {
  Made<Activation> transform;
  static void describe(auto&& p) {
    p("transform", &ActivationLayerParams::transform,
      "Activation to apply to every element, as in Activation: Rectlin.", Alias{"activation"}, Required{});
  }
};

struct OfActivation : Parametrized<Layer, ActivationLayerParams> {
  using Parametrized::Parametrized;
  WayOfZeros way_of_zeros() const override { return params.transform->mixes() ? WayOfZeros::mixed : WayOfZeros::kept; }
};

struct ActivationLayer : OfActivation {
  using OfActivation::OfActivation;
  Expr forward(LayerContext& context, Expr x) const override {
    return activate(context, x, params.transform, context.layer);
  }
  bool takes_split() const override { return true; }
};
const Registration<Layer, ActivationLayer> registration{
    "Activation", "Applies a function to every element.", {"ActivationLayer"}};

struct DataTransform : OfActivation {
  using OfActivation::OfActivation;
  Expr forward(LayerContext& context, Expr x) const override {
    const Expr data(context.graph, context.graph.add("scale_gradient", {x}, {{"factor", 0.0}}));
    return activate(context, data, params.transform, context.layer);
  }
};
NEON_REGISTER(Layer, DataTransform, "Applies an activation to the data; layers before it are not trained.");

}  // namespace

}  // namespace neon
