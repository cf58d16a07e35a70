// Pooling windows over all axes but the batch, channels too: `window`, `strides` and `padding` have a number (padding:
// two) for each axis of a sample. Padding is not there: it is never the largest, and does not count in a mean.
//   pool_max(x) -> y, position                the largest of each window, and where in the window it stands: the first
//                                             of equal ones, in row-major order; NaN is larger than any number
//   pool_max_gradient(y, position) -> x       each y added to the element that it came from, in an array of `sizes`
//   pool_avg(x) -> y                          the mean of each window's elements, as neon has it
//   pool_avg_gradient(y) -> x                 its adjoint
// A zero that is the largest may lose its sign, and NaN its bits.
// With count_padding=1 a mean divides by the size of the whole window, so that times that size it is a sum.
// position is u8, or i32 where a window has over 255 places.
#include "backends/graph/flops.h"
#include "backends/graph/ops.h"
#include "backends/graph/windows.h"

namespace neon {

namespace {

using Sizes = std::vector<int64_t>;

Sizes sample(const Shape& shape) { return {shape.begin() + 1, shape.end()}; }

Shape batch_of(int64_t samples, const Sizes& sizes) { return Shape{samples}.concat(Shape(sizes)); }

// Every window must see an element of the array, or it would have no largest and no mean.
Sizes checked_outputs(const Windows& windows, const Shape& input) {
  const Sizes sizes = sample(input), outputs = windows.outputs(sizes);
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t first = -windows.before[i], last = (outputs[i] - 1) * windows.strides[i] - windows.before[i];
    if (first + windows.size[i] <= 0 || last >= sizes[i])
      fail(ErrorKind::config, "pooling of ", input, ": along axis ", i + 1, " a window of ", windows.size[i],
           " with stride ", windows.strides[i], " would lie in the padding of ", windows.before[i], " and ",
           windows.after[i], " alone; padding is less than the window");
  }
  return outputs;
}

Windows pooling_windows(const InferContext& c, const Shape& input) {
  if (input.rank() < 2 || c.attributes.integers("window").size() + 1 != size_t(input.rank()))
    fail(ErrorKind::config, "a pooling window ", Shape(c.attributes.integers("window")), " and an array ", input,
         " do not go together: it has a size for each axis but the batch");
  if (!is_floating(c.inputs[0].dtype))
    fail(ErrorKind::config, "pooling takes an array of a floating type, got ", c.inputs[0]);
  return windows_of(c.attributes, c.attributes.integers("window"));
}

DType position_type(const Attributes& attributes) {
  return Shape(attributes.integers("window")).elements() > 255 ? DType::i32 : DType::u8;
}

std::vector<TensorType> infer_average(const InferContext& c) {
  const TensorType& x = c.inputs[0];
  return {{x.dtype, batch_of(x.shape[0], checked_outputs(pooling_windows(c, x.shape), x.shape))}};
}

std::vector<TensorType> infer_maximum(const InferContext& c) {
  const TensorType y = infer_average(c)[0];
  return {y, {position_type(c.attributes), y.shape}};
}

std::vector<TensorType> infer_gradient(const InferContext& c) {
  const TensorType& y = c.inputs[0];
  const Shape x = batch_of(y.shape.rank() > 0 ? y.shape[0] : 0, c.attributes.integers("sizes"));
  const Sizes outputs = checked_outputs(pooling_windows(c, x), x);
  if (y.shape != batch_of(x[0], outputs))
    fail(ErrorKind::config, "pooling of ", x, " gives samples of ", Shape(outputs), ", not ", y.shape);
  return {{y.dtype, x}};
}

std::vector<TensorType> infer_maximum_gradient(const InferContext& c) {
  const TensorType expected{position_type(c.attributes), c.inputs[0].shape};
  if (c.inputs[1] != expected) fail(ErrorKind::config, "positions are ", expected, ", got ", c.inputs[1]);
  return infer_gradient(c);
}

void maximum_gradient(GradientContext& c) {
  c.results[0] = c.graph.add("pool_max_gradient", {c.cotangent(), c.output(1)},
                             c.node.attributes.with("sizes", sample(c.graph.shape(c.input(0)))));
}
void average_gradient(GradientContext& c) {
  c.results[0] = c.graph.add("pool_avg_gradient", {c.cotangent()},
                             c.node.attributes.with("sizes", sample(c.graph.shape(c.input(0)))));
}
void average_gradient_gradient(GradientContext& c) {
  const Attributes& a = c.node.attributes;
  c.results[0] = c.graph.add("pool_avg", {c.cotangent()},
                             {{"window", a.integers("window")},
                              {"strides", a.integers("strides")},
                              {"padding", a.integers("padding")},
                              {"count_padding", a.integer("count_padding")}});
}

// Every place of a window is compared or added, those in the padding, too.
double flops_of_windows_over(const Node& node, double windows) {
  return windows * double(Shape(node.attributes.integers("window")).elements());
}
double flops_of_pooling(const Graph& graph, const Node& node) {
  return flops_of_windows_over(node, flops_along(graph, node));
}
double flops_of_spreading(const Graph& graph, const Node& node) {
  return flops_of_windows_over(node, double(graph.shape(node.inputs[0]).elements()));
}
double flops_of_largest_gradient(const Graph& graph, const Node& node) {
  return double(graph.shape(node.inputs[0]).elements());
}

const OpRegistration pooling_ops[] = {
    OpRegistration({ops::pool_max,
                    infer_maximum,
                    maximum_gradient,
                    nullptr,
                    {.takes_relu = true, .writes_rows = 1},
                    flops_of_pooling}),
    OpRegistration({ops::pool_max_gradient, infer_maximum_gradient, nullptr, nullptr, {}, flops_of_largest_gradient}),
    OpRegistration({ops::pool_avg, infer_average, average_gradient, nullptr, {.writes_rows = 1}, flops_of_pooling}),
    OpRegistration(
        {ops::pool_avg_gradient, infer_gradient, average_gradient_gradient, nullptr, {}, flops_of_spreading}),
};

}  // namespace

}  // namespace neon
