// Local: windows over images or volumes as a convolution has them, each place with filters of its own (LeCun 1989; neon
// 0.9's local_conv): a matrix product for each place, y[p,n,k] = sum over f of seen[p,n,f] w[p,k,f], f the numbers of a
// window.
#include "layers/convolution.h"
#include "layers/linear.h"
#include "transforms/parts.h"

namespace neon {

namespace {

// x with zeros before and after it along an axis.
Expr padded(Expr x, int axis, int64_t before, int64_t after) {
  Graph& graph = x.graph();
  const auto zeros = [&](int64_t count) {
    return Expr(graph, broadcast_to(graph, graph.constant(0, x.dtype()), x.shape().with(axis, count)));
  };
  std::vector<Expr> parts = {x};
  if (before > 0) parts.insert(parts.begin(), zeros(before));
  if (after > 0) parts.push_back(zeros(after));
  return beside(parts, axis);
}

// Elements first, first + stride ... along an axis, `count` of them; there are stride elements after the last one's.
Expr every(Expr x, int axis, int64_t first, int64_t count, int64_t stride) {
  x = part(x, axis, first, count * stride);
  if (stride == 1) return x;
  const Shape shape = x.shape(), before = shape.slice(0, axis), after = shape.slice(axis + 1, shape.rank());
  x = part(reshape(x, before.concat({count, stride}).concat(after)), axis + 1, 0, 1);
  return reshape(x, shape.with(axis, count));
}

// x (N,H,W,C) -> (H,W,N,C)
Expr samples_inside(Expr x) {
  std::vector<int64_t> axes;
  for (int axis = 1; axis + 1 < x.shape().rank(); ++axis) axes.push_back(axis);
  axes.push_back(0);
  axes.push_back(x.shape().rank() - 1);
  return {x.graph(), transpose(x.graph(), x, axes)};
}

// x (H,W,N,C) -> (P,Q,N,R*S*C), the numbers that each window sees.
Expr patches(Expr x, const Windows& windows, const std::vector<int64_t>& outputs) {
  for (int axis = 0; axis < windows.axes(); ++axis) {
    const size_t i = size_t(axis);
    x = padded(x, axis, windows.before[i], windows.after[i] + windows.strides[i] - 1);
  }
  std::vector<Expr> parts = {x};
  for (int axis = 0; axis < windows.axes(); ++axis) {
    const size_t i = size_t(axis);
    std::vector<Expr> taken;
    for (Expr part : parts)
      for (int64_t place = 0; place < windows.size[i]; ++place)
        taken.push_back(every(part, axis, place * windows.dilation[i], outputs[i], windows.strides[i]));
    parts = std::move(taken);
  }
  return beside(parts, x.shape().rank() - 1);
}

// seen (P,N,F) · w (P,K,F) -> (P,N,K)
Expr products(Expr seen, Expr w) {
  const Attributes attributes = {{"transpose_a", int64_t(0)}, {"transpose_b", int64_t(1)}};
  return {seen.graph(), seen.graph().add("batch_matmul", {seen, w}, attributes)};
}

struct LocalParams : FilterParams {
  Made<Initializer> bias;
  bool shared_bias = true;
  Made<Activation> activation;
  static void describe(auto&& p) {
    FilterParams::describe(p);
    p("bias", &LocalParams::bias,
      "Initializer of the biases, as in bias: {Constant: 0}. Without it the layer has no bias.");
    p("shared_bias", &LocalParams::shared_bias, "Uses one bias for each feature map instead of one for each output.");
    p("activation", &LocalParams::activation,
      "Activation of the result, as in activation: Rectlin. Without it the result stays linear.");
  }
};

struct Local : Parametrized<Layer, LocalParams> {
  explicit Local(LocalParams given) : Parametrized(std::move(given)) {
    params.init = init_before(params.activation, params.init);
  }

  Expr forward(LayerContext& context, Expr x) const override {
    const Filter filter = filter_of(params, axes_of_space(x, "a local layer"));
    check_windows(x, filter.windows, "filter");
    const std::vector<int64_t> outputs = filter.windows.outputs(space(x));
    const int64_t samples = x.shape()[0], places = Shape(outputs).elements();
    const int64_t numbers = Shape(filter.windows.size).elements() * x.shape().back();
    const int64_t reached = Shape(filter.windows.size).elements() * filter.maps;
    const Shape filters = Shape{filter.maps}.concat(Shape(filter.windows.size)).concat({x.shape().back()});
    const Expr w = context.parameter(
        {.name = context.layer + "/W",
         .layer = context.layer,
         .layer_class = "Local",
         .shape = {places, filter.maps, numbers},
         .initializer = &*params.init,
         .fan = {.in = numbers, .out = reached, .rows = numbers, .columns = filter.maps, .filters = filters}});
    const Expr seen = reshape(patches(samples_inside(x), filter.windows, outputs), {places, samples, numbers});
    const Expr y = reshape(Expr(x.graph(), transpose(x.graph(), products(seen, w), {1, 0, 2})),
                           Shape{samples}.concat(Shape(outputs)).concat({filter.maps}));
    return finish(context, y);
  }

 private:
  Expr finish(LayerContext& context, Expr y) const {
    if (params.bias)
      y = params.shared_bias ? bias(context, y, *params.bias, context.layer + "_bias")
                             : bias_of_places(context, y, *params.bias);
    return activate(context, y, params.activation);
  }
};
NEON_REGISTER(Layer, Local, "Locally connected layer: a convolution with filters of its own at each place.");

}  // namespace

}  // namespace neon
