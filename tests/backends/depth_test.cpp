// Blocks of pixels as channels: the ops by their formula, element by element; and convolutions of few channels that
// were made deep, which must be the sums that they were, over blocks no larger than need be.
#include <catch2/catch.hpp>

#include "backends/graph/passes.h"
#include "tests/backends/indices.h"
#include "tests/backends/run_case.h"
#include "tests/backends/window_cases.h"

using namespace neon;
using namespace neon::test;

namespace {

using Sizes = std::vector<int64_t>;

// Of the element at (n,p,q,k) of the blocks y, where x (N,H,W,C) has it; -1 where nothing of x lies there.
int64_t place_in_image(const Attributes& attributes, const Shape& x, const Sizes& at) {
  const auto &blocks = attributes.integers("blocks"), &padding = attributes.integers("padding");
  const int64_t pixel = at[3] / x[3];
  if (pixel >= blocks[0] * blocks[1]) return -1;
  const int64_t row = at[1] * blocks[0] + pixel / blocks[1] - padding[0],
                column = at[2] * blocks[1] + pixel % blocks[1] - padding[2];
  const bool inside = row >= 0 && row < x[1] && column >= 0 && column < x[2];
  return inside ? flat(x, {at[0], row, column, at[3] % x[3]}) : -1;
}

// For each element of blocks `y` the place in `x`.
Sizes places(const Attributes& attributes, const Shape& x, const Shape& y) {
  Sizes out;
  for (int64_t n = 0; n < y[0]; ++n)
    for (int64_t p = 0; p < y[1]; ++p)
      for (int64_t q = 0; q < y[2]; ++q)
        for (int64_t k = 0; k < y[3]; ++k) out.push_back(place_in_image(attributes, x, {n, p, q, k}));
  return out;
}

// What becomes of a convolution (K maps) and of its weight gradient.
struct Deep {
  const char* name;
  Shape x, w;
  Sizes strides, padding;
  Shape input, filter;  // as blocks; of no axes: it stays as it is
  Sizes dilation = {1, 1};
  int64_t groups = 1;
};

Graph convolutions(const Deep& c) {
  Graph graph;
  const Attributes attributes = {
      {"strides", c.strides}, {"padding", c.padding}, {"dilation", c.dilation}, {"groups", c.groups}};
  const Value x = graph.input("x", DType::f64, c.x), w = graph.input("w", DType::f64, c.w);
  const Value y = graph.add("convolution", {x, w}, attributes);
  const Value g = graph.input("g", DType::f64, graph.shape(y));
  graph.output("y", y);
  graph.output("dw", graph.add("convolution_weight_gradient", {x, g},
                               attributes.with("sizes", Sizes{c.w.begin() + 1, c.w.end() - 1})));
  return graph;
}

struct Results {
  Tensor y, dw;
};

Results run(const Graph& graph, const Deep& c) {
  Variables variables;
  const auto program = compile_for_cpu(graph, variables, {.plain = true});
  const Shape g = graph.shape(graph.outputs().at("y"));
  const OpCase numbers{"numbers", c.name, {{c.x}, {c.w}, {g}}};
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < 3; ++i) inputs.push_back(case_data(numbers, i, DType::f64, DType::f64));
  program->bind("x", inputs[0].data()), program->bind("w", inputs[1].data()), program->bind("g", inputs[2].data());
  program->run(0);
  return {program->output("y").clone(), program->output("dw").clone()};
}

// The only node of an op.
const Node& node_of(const Graph& graph, const std::string& op) {
  const Node* found = nullptr;
  for (int i = 0; i < graph.node_count(); ++i) {
    if (graph.node(i).op->name != op) continue;
    REQUIRE(!found);
    found = &graph.node(i);
  }
  REQUIRE(found);
  return *found;
}

}  // namespace

TEST_CASE("blocks of pixels, by the formula") {
  for (const OpCase& c : cases_of(*find_op("space_to_depth"))) {
    INFO(c.to_string());
    const CaseRun run = run_case(c, DType::f64, DType::f64, CpuOptions{.plain = true});
    const Tensor &x = run.inputs[0], &y = run.outputs[0];
    const Sizes from = places(c.attributes, x.shape(), y.shape());
    for (size_t i = 0; i < from.size(); ++i) REQUIRE(y.at(int64_t(i)) == (from[i] < 0 ? 0 : x.at(from[i])));
  }
}

TEST_CASE("pixels out of blocks, by the formula") {
  for (const OpCase& c : cases_of(*find_op("depth_to_space"))) {
    INFO(c.to_string());
    const CaseRun run = run_case(c, DType::f64, DType::f64, CpuOptions{.plain = true});
    const Tensor &y = run.inputs[0], &x = run.outputs[0];
    const Sizes from = places(c.attributes, x.shape(), y.shape());
    std::vector<double> expected(size_t(x.elements()), 0);  // of pixels that no block holds
    for (size_t i = 0; i < from.size(); ++i)
      if (from[i] >= 0) expected[size_t(from[i])] = y.at(int64_t(i));
    for (size_t i = 0; i < expected.size(); ++i) REQUIRE(x.at(int64_t(i)) == expected[i]);
  }
}

TEST_CASE("convolutions of few channels become deep ones of the same sums") {
  // Blocks as high and wide as the stride; channels of a block rounded up to 8; filters as many blocks as they reach
  // into; of the input as many blocks as the last window needs.
  const Deep all[] = {
      {"first of a residual net", {2, 32, 30, 3}, {4, 7, 7, 3}, {2, 2}, {3, 3, 3, 3}, {2, 19, 18, 16}, {4, 4, 4, 16}},
      {"first of AlexNet", {1, 27, 31, 3}, {2, 11, 11, 3}, {4, 4}, {0, 0, 0, 0}, {1, 7, 8, 48}, {2, 3, 3, 48}},
      {"no stride", {2, 6, 5, 3}, {4, 3, 3, 3}, {1, 1}, {1, 1, 0, 0}, {2, 8, 5, 8}, {4, 3, 3, 8}},
      {"two strides", {1, 10, 9, 2}, {3, 5, 4, 2}, {3, 2}, {1, 2, 0, 1}, {1, 4, 5, 16}, {3, 2, 2, 16}},
      {"stride above the filter", {2, 9, 8, 1}, {3, 2, 2, 1}, {4, 3}, {0, 0, 1, 0}, {2, 2, 3, 16}, {3, 1, 1, 16}},
      {"rows left over", {1, 12, 11, 7}, {2, 3, 3, 7}, {2, 2}, {0, 0, 0, 0}, {1, 6, 6, 32}, {2, 2, 2, 32}},
      {"64 channels", {1, 17, 16, 1}, {2, 8, 8, 1}, {8, 8}, {0, 0, 0, 0}, {1, 2, 2, 64}, {2, 1, 1, 64}},
      {"63 channels", {1, 7, 10, 7}, {2, 4, 3, 7}, {3, 3}, {0, 0, 0, 0}, {1, 3, 3, 64}, {2, 2, 1, 64}},
      {"more than 64 channels", {1, 17, 19, 1}, {2, 8, 9, 1}, {8, 9}, {0, 0, 0, 0}, {}, {}},
      {"72 channels of three", {1, 17, 19, 3}, {2, 8, 3, 3}, {8, 3}, {0, 0, 0, 0}, {}, {}},
      {"72 channels the other way", {1, 17, 19, 3}, {2, 3, 8, 3}, {3, 8}, {0, 0, 0, 0}, {}, {}},
      {"8 channels", {1, 6, 5, 8}, {4, 3, 3, 8}, {1, 1}, {0, 0, 0, 0}, {}, {}},
      {"dilated", {1, 9, 9, 3}, {2, 3, 3, 3}, {1, 1}, {0, 0, 0, 0}, {}, {}, {2, 1}},
      {"in groups", {1, 5, 5, 4}, {4, 3, 3, 2}, {1, 1}, {0, 0, 0, 0}, {}, {}, {1, 1}, 2},
      {"volumes", {1, 3, 4, 5, 2}, {2, 2, 2, 2, 2}, {1, 1, 1}, {0, 0, 0, 0, 0, 0}, {}, {}, {1, 1, 1}},
      {"no samples", {0, 5, 4, 3}, {2, 3, 3, 3}, {1, 1}, {0, 0, 0, 0}, {}, {}},
  };
  for (const Deep& c : all) {
    INFO(c.name);
    const Graph before = convolutions(c), after = with_deep_inputs(before);
    const bool deep = c.input.rank() > 0;
    const Node &forward = node_of(after, "convolution"), &backward = node_of(after, "convolution_weight_gradient");
    CHECK(after.shape(forward.inputs[0]) == (deep ? c.input : c.x));
    CHECK(after.shape(forward.inputs[1]) == (deep ? c.filter : c.w));
    CHECK(backward.inputs[0] == forward.inputs[0]);
    CHECK(after.shape(backward.outputs[0]) == (deep ? c.filter : c.w));
    const Results expected = run(before, c), got = run(after, c);
    const double length = double(std::max(got.y.elements(), c.w.elements()));
    CHECK(difference(got.y, expected.y, 1e-14 * length) == "");
    CHECK(difference(got.dw, expected.dw, 1e-14 * length) == "");
  }
}
