// Plain kernels of pooling.
#include <cmath>

#include "backends/cpu/plain.h"
#include "backends/cpu/plain_windows.h"
#include "backends/graph/ops.h"

namespace neon::cpu {

namespace {

std::vector<int64_t> sample(const Shape& shape) { return {shape.begin() + 1, shape.end()}; }

// Calls visit(element of x, place, element of y) for all samples. x is the larger array.
template <typename Visit>
void each_of_batch(const Node& node, const Shape& x, const Shape& y, Visit&& visit) {
  const Windows windows = windows_of(node.attributes, node.attributes.integers("window"));
  const int64_t elements = Shape(sample(x)).elements(), outputs = Shape(sample(y)).elements();
  for (int64_t n = 0; n < x[0]; ++n)
    each_place(windows, sample(x), [&](int64_t output, int64_t place, int64_t element) {
      visit(n * elements + element, place, n * outputs + output);
    });
}

void maximum(PlainArguments& a) {
  const Tensor x = in_f64(a.inputs[0]);
  const auto from = x.as<double>();
  const size_t outputs = size_t(a.outputs[0].elements());
  std::vector<double> y(outputs, 0), position(outputs, 0);
  std::vector<bool> seen(outputs, false);
  each_of_batch(a.node, x.shape(), a.outputs[0].shape(), [&](int64_t i, int64_t place, int64_t output) {
    const size_t o = size_t(output);
    const double value = from[size_t(i)];
    if (seen[o] && !(value > y[o]) && !(std::isnan(value) && !std::isnan(y[o]))) return;
    seen[o] = true;
    y[o] = value;
    position[o] = double(place);
  });
  store(y, a.outputs[0]);
  store(position, a.outputs[1]);
}

void maximum_gradient(PlainArguments& a) {
  const Tensor y = in_f64(a.inputs[0]), position = in_f64(a.inputs[1]);
  const auto from = y.as<double>(), places = position.as<double>();
  std::vector<double> x(size_t(a.outputs[0].elements()), 0);
  each_of_batch(a.node, a.outputs[0].shape(), y.shape(), [&](int64_t i, int64_t place, int64_t o) {
    if (double(place) == places[size_t(o)]) x[size_t(i)] += from[size_t(o)];
  });
  store(x, a.outputs[0]);
}

// The divisor of each y's mean.
std::vector<double> counts(const Node& node, const Shape& x, const Shape& y) {
  const auto& window = node.attributes.integers("window");
  if (node.attributes.integer("count_padding"))
    return std::vector<double>(size_t(y.elements()), double(Shape(window).elements()));
  std::vector<double> out(size_t(y.elements()), 0);
  each_of_batch(node, x, y, [&](int64_t, int64_t, int64_t o) { ++out[size_t(o)]; });
  return out;
}

void average(PlainArguments& a) {
  const Tensor x = in_f64(a.inputs[0]);
  const auto from = x.as<double>();
  const auto count = counts(a.node, x.shape(), a.outputs[0].shape());
  std::vector<double> sums(count.size(), 0);
  each_of_batch(a.node, x.shape(), a.outputs[0].shape(),
                [&](int64_t i, int64_t, int64_t o) { sums[size_t(o)] += from[size_t(i)]; });
  for (size_t o = 0; o < sums.size(); ++o) sums[o] /= count[o];
  store(sums, a.outputs[0]);
}

void average_gradient(PlainArguments& a) {
  const Tensor y = in_f64(a.inputs[0]);
  const auto from = y.as<double>();
  const auto count = counts(a.node, a.outputs[0].shape(), y.shape());
  std::vector<double> x(size_t(a.outputs[0].elements()), 0);
  each_of_batch(a.node, a.outputs[0].shape(), y.shape(),
                [&](int64_t i, int64_t, int64_t o) { x[size_t(i)] += from[size_t(o)] / count[size_t(o)]; });
  store(x, a.outputs[0]);
}

const PlainRegistration plain_pooling_functions[] = {
    {ops::pool_max, maximum},
    {ops::pool_max_gradient, maximum_gradient},
    {ops::pool_avg, average},
    {ops::pool_avg_gradient, average_gradient},
};

}  // namespace

}  // namespace neon::cpu
