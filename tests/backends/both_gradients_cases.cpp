#include "tests/backends/both_gradients_cases.h"

#include <set>

#include "backends/graph/windows.h"
#include "tests/backends/window_cases.h"

namespace neon::test {

namespace {

using Numbers = std::vector<int64_t>;

BothGradientsCase case_of(const std::string& name, const Shape& x, const Numbers& filter, const Numbers& strides) {
  const Attributes attributes = {
      {"strides", strides}, {"padding", Numbers{1, 1, 1, 1}}, {"dilation", Numbers{1, 1}}, {"groups", x.back()}};
  const Numbers y = windows_of(attributes, filter).outputs(Numbers{x[1], x[2]});
  return {name,
          x,
          {x.back(), filter[0], filter[1], 1},
          {x[0], y[0], y[1], x.back()},
          attributes.with("sizes", Numbers{x[1], x[2]}),
          attributes.with("sizes", filter)};
}

}  // namespace

std::vector<BothGradientsCase> both_gradients_cases() {
  // Filters too large for the registers, odd channels, and what is no depthwise convolution on a GPU.
  const std::set<std::string> apart = {"depthwise, 5x5 with strides", "depthwise, 7x7, odd channels",
                                       "depthwise, dilated", "depthwise, two maps each"};
  const std::vector<OpCase> by_input = convolution_cases("convolution_data_gradient"),
                            by_filters = convolution_cases("convolution_weight_gradient");
  std::vector<BothGradientsCase> out;
  for (size_t i = 0; i < by_input.size(); ++i) {
    const OpCase &input = by_input[i], &filters = by_filters[i];
    if (!input.name.starts_with("depthwise")) continue;
    out.push_back({input.name, filters.inputs[0].shape, input.inputs[1].shape, input.inputs[0].shape, input.attributes,
                   filters.attributes, apart.count(input.name) == 0});
  }
  out.push_back(case_of("4x3, strides of 3 and 2", {4, 16, 17, 8}, {4, 3}, {3, 2}));
  out.push_back(case_of("more strips than a GPU's threads take at once", {1100, 5, 9, 40}, {3, 3}, {1, 1}));
  return out;
}

Graph both_gradients(const BothGradientsCase& c, DType dtype) {
  Graph graph;
  const Value x = graph.input("x", dtype, c.x), w = graph.input("w", dtype, c.w), y = graph.input("y", dtype, c.y);
  graph.output("by input", graph.add("convolution_data_gradient", {y, w}, c.by_input));
  graph.output("by filters", graph.add("convolution_weight_gradient", {x, y}, c.by_filters));
  return graph;
}

}  // namespace neon::test
