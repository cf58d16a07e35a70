// Plain kernels of convolution and its gradients: the products x · w = y are the same, added up for another of the
// three; and the columns and patches of which one of them is a product.
#include "backends/cpu/plain.h"
#include "backends/cpu/plain_windows.h"
#include "backends/graph/ops.h"

namespace neon::cpu {

namespace {

std::vector<int64_t> middle(const Shape& shape) { return {shape.begin() + 1, shape.end() - 1}; }

// Calls visit(x, w, y) with the flat indices of every product.
template <typename Visit>
void each_product(const Node& node, const Shape& x, const Shape& w, const Shape& y, Visit&& visit) {
  const Windows windows = windows_of(node.attributes, middle(w));
  const int64_t channels = x.back(), maps = y.back(), groups = node.attributes.integer("groups");
  const int64_t of_group = w.back(), pixels = Shape(middle(x)).elements(), outputs = Shape(middle(y)).elements(),
                places = Shape(middle(w)).elements();
  for (int64_t n = 0; n < x[0]; ++n)
    each_place(windows, middle(x), [&](int64_t output, int64_t place, int64_t pixel) {
      for (int64_t k = 0; k < maps; ++k) {
        const int64_t first = k / (maps / groups) * of_group;  // channel of the group
        for (int64_t c = 0; c < of_group; ++c)
          visit((n * pixels + pixel) * channels + first + c, (k * places + place) * of_group + c,
                (n * outputs + output) * maps + k);
      }
    });
}

void convolution(PlainArguments& a) {
  const Tensor x = in_f64(a.inputs[0]), w = in_f64(a.inputs[1]);
  const auto from = x.as<double>(), weights = w.as<double>();
  std::vector<double> y(size_t(a.outputs[0].elements()), 0);
  each_product(a.node, x.shape(), w.shape(), a.outputs[0].shape(),
               [&](int64_t i, int64_t j, int64_t k) { y[size_t(k)] += from[size_t(i)] * weights[size_t(j)]; });
  store(y, a.outputs[0]);
}

void data_gradient(PlainArguments& a) {
  const Tensor y = in_f64(a.inputs[0]), w = in_f64(a.inputs[1]);
  const auto from = y.as<double>(), weights = w.as<double>();
  std::vector<double> x(size_t(a.outputs[0].elements()), 0);
  each_product(a.node, a.outputs[0].shape(), w.shape(), y.shape(),
               [&](int64_t i, int64_t j, int64_t k) { x[size_t(i)] += from[size_t(k)] * weights[size_t(j)]; });
  store(x, a.outputs[0]);
}

void weight_gradient(PlainArguments& a) {
  const Tensor x = in_f64(a.inputs[0]), y = in_f64(a.inputs[1]);
  const auto from = x.as<double>(), gradient = y.as<double>();
  std::vector<double> w(size_t(a.outputs[0].elements()), 0);
  each_product(a.node, x.shape(), a.outputs[0].shape(), y.shape(),
               [&](int64_t i, int64_t j, int64_t k) { w[size_t(j)] += from[size_t(i)] * gradient[size_t(k)]; });
  store(w, a.outputs[0]);
}

// The numbers that each window sees: place `place` of window `output` stands at place * of_place + output * of_output.
// Each channel is a place.
void put_windows(PlainArguments& a, int64_t of_place, int64_t of_output) {
  const Tensor x = in_f64(a.inputs[0]);
  const auto from = x.as<double>();
  std::vector<double> y(size_t(a.outputs[0].elements()), 0);
  const Windows windows = windows_of(a.node.attributes, a.node.attributes.integers("sizes"));
  const int64_t channels = x.shape().back(), pixels = Shape(middle(x.shape())).elements(),
                outputs = Shape(windows.outputs(middle(x.shape()))).elements();
  for (int64_t n = 0; n < x.shape()[0]; ++n)
    each_place(windows, middle(x.shape()), [&](int64_t output, int64_t place, int64_t pixel) {
      for (int64_t c = 0; c < channels; ++c)
        y[size_t((place * channels + c) * of_place + (n * outputs + output) * of_output)] =
            from[size_t((n * pixels + pixel) * channels + c)];
    });
  store(y, a.outputs[0]);
}

void columns(PlainArguments& a) { put_windows(a, a.outputs[0].shape()[1], 1); }
void patches(PlainArguments& a) { put_windows(a, 1, a.outputs[0].shape()[3]); }

const PlainRegistration plain_convolution_functions[] = {
    {ops::columns, columns},
    {ops::convolution, convolution},
    {ops::convolution_data_gradient, data_gradient},
    {ops::convolution_weight_gradient, weight_gradient},
    {ops::patches, patches},
};

}  // namespace

}  // namespace neon::cpu
