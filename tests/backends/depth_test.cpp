// Pixels as channels: the ops by their formula, element by element; and convolutions of few channels that were made
// deep, which must be the sums that they were, over patches no larger than need be.
#include <catch2/catch.hpp>

#include "backends/graph/passes.h"
#include "tests/backends/indices.h"
#include "tests/backends/run_case.h"
#include "tests/backends/window_cases.h"

using namespace neon;
using namespace neon::test;

namespace {

using Sizes = std::vector<int64_t>;

// What becomes of a convolution (K maps) and of its weight gradient.
struct Deep {
  const char* name;
  Shape x, w;
  Sizes strides, padding;
  Shape input, filter;  // as patches; of no axes: it stays as it is
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

// Both are a convolution and its gradient by the filters, of which the second gives what the first gives.
void check_same(const Graph& after, const Graph& before, const Deep& c) {
  const Results expected = run(before, c), got = run(after, c);
  const double length = double(std::max(got.y.elements(), c.w.elements()));
  CHECK(difference(got.y, expected.y, 1e-14 * length) == "");
  CHECK(difference(got.dw, expected.dw, 1e-14 * length) == "");
}

bool always(const Graph&, const Node&, const DeviceKernels&) { return true; }

}  // namespace

TEST_CASE("patches, by the formula") {
  for (const OpCase& c : cases_of(*find_op("patches"))) {
    INFO(c.to_string());
    const CaseRun run = run_case(c, DType::f64, DType::f64, ProgramOptions{.plain = true});
    const Tensor &x = run.inputs[0], &y = run.outputs[0];
    const Sizes &size = c.attributes.integers("sizes"), &strides = c.attributes.integers("strides"),
                &padding = c.attributes.integers("padding"), &dilation = c.attributes.integers("dilation");
    const int64_t N = x.shape()[0], H = x.shape()[1], W = x.shape()[2], C = x.shape()[3];
    const int64_t P = (H + padding[0] + padding[1] - dilation[0] * (size[0] - 1) - 1) / strides[0] + 1;
    const int64_t Q = (W + padding[2] + padding[3] - dilation[1] * (size[1] - 1) - 1) / strides[1] + 1;
    REQUIRE(y.shape() == Shape{N, P, Q, c.attributes.integer("channels")});
    for (int64_t n = 0, i = 0; n < N; ++n)
      for (int64_t p = 0; p < P; ++p)
        for (int64_t q = 0; q < Q; ++q)
          for (int64_t k = 0; k < y.shape()[3]; ++k, ++i) {
            const int64_t h = p * strides[0] - padding[0] + k / C / size[1] * dilation[0];
            const int64_t w = q * strides[1] - padding[2] + k / C % size[1] * dilation[1];
            const bool inside = k < size[0] * size[1] * C && h >= 0 && h < H && w >= 0 && w < W;
            REQUIRE(y.at(i) == (inside ? x.at(((n * H + h) * W + w) * C + k % C) : 0));
          }
  }
}

TEST_CASE("pixels out of channels, by the formula") {
  for (const OpCase& c : cases_of(*find_op("depth_to_space"))) {
    INFO(c.to_string());
    const CaseRun run = run_case(c, DType::f64, DType::f64, ProgramOptions{.plain = true});
    const Tensor &y = run.inputs[0], &x = run.outputs[0];
    const Sizes& blocks = c.attributes.integers("blocks");
    const int64_t C = x.shape()[3];
    int64_t i = 0;
    for (int64_t n = 0; n < x.shape()[0]; ++n)
      for (int64_t h = 0; h < x.shape()[1]; ++h)
        for (int64_t w = 0; w < x.shape()[2]; ++w)
          for (int64_t k = 0; k < C; ++k, ++i) {
            const int64_t depth = (h % blocks[0] * blocks[1] + w % blocks[1]) * C + k;
            REQUIRE(x.at(i) == y.at(flat(y.shape(), {n, h / blocks[0], w / blocks[1], depth})));
          }
  }
}

TEST_CASE("convolutions of few channels become deep ones of the same sums") {
  // Of at most 64 numbers in a window, whole windows, their number rounded up to 8. Of more, as many rows of a window
  // as the stride has, or blocks as high and wide as the stride, where those are at most 64 numbers; channels rounded
  // up to 8; filters as many blocks as they reach into; of the input as many as the last window needs.
  const Deep all[] = {
      {"first of a net of 3x3", {2, 9, 7, 3}, {16, 3, 3, 3}, {1, 1}, {1, 1, 1, 1}, {2, 9, 7, 32}, {16, 1, 1, 32}},
      {"first of LeNet", {2, 12, 11, 1}, {6, 5, 5, 1}, {1, 1}, {0, 0, 0, 0}, {2, 8, 7, 32}, {6, 1, 1, 32}},
      {"padding on one side", {2, 6, 5, 3}, {4, 3, 3, 3}, {1, 1}, {1, 0, 0, 2}, {2, 5, 5, 32}, {4, 1, 1, 32}},
      {"two strides", {1, 10, 9, 2}, {3, 5, 4, 2}, {3, 2}, {1, 2, 0, 1}, {1, 3, 4, 40}, {3, 1, 1, 40}},
      {"stride above the filter", {2, 9, 8, 1}, {3, 2, 2, 1}, {4, 3}, {0, 0, 1, 0}, {2, 2, 3, 8}, {3, 1, 1, 8}},
      {"rows left over", {1, 12, 11, 7}, {2, 3, 3, 7}, {2, 2}, {0, 0, 0, 0}, {1, 5, 5, 64}, {2, 1, 1, 64}},
      {"64 numbers", {1, 17, 16, 1}, {2, 8, 8, 1}, {8, 8}, {0, 0, 0, 0}, {1, 2, 2, 64}, {2, 1, 1, 64}},
      {"64 numbers, close", {1, 9, 10, 1}, {2, 8, 8, 1}, {1, 1}, {0, 0, 0, 0}, {1, 2, 3, 64}, {2, 1, 1, 64}},
      {"single pixels", {2, 4, 5, 3}, {2, 1, 1, 3}, {2, 1}, {0, 0, 0, 0}, {2, 2, 5, 8}, {2, 1, 1, 8}},
      {"dilated", {1, 9, 9, 3}, {2, 3, 3, 3}, {1, 1}, {0, 1, 2, 0}, {1, 6, 9, 32}, {2, 1, 1, 32}, {2, 1}},
      {"dilated with strides", {2, 9, 10, 2}, {3, 3, 2, 2}, {2, 3}, {1, 2, 2, 1}, {2, 4, 4, 16}, {3, 1, 1, 16}, {2, 3}},
      {"first of a residual net", {2, 32, 30, 3}, {4, 7, 7, 3}, {2, 2}, {3, 3, 3, 3}, {2, 19, 15, 48}, {4, 4, 1, 48}},
      {"first of AlexNet", {1, 27, 31, 3}, {2, 11, 11, 3}, {4, 4}, {0, 0, 0, 0}, {1, 7, 8, 48}, {2, 3, 3, 48}},
      {"no stride", {2, 6, 5, 3}, {4, 5, 5, 3}, {1, 1}, {2, 2, 1, 1}, {2, 10, 3, 16}, {4, 5, 1, 16}},
      {"two strides of many", {1, 10, 9, 3}, {3, 5, 6, 3}, {3, 2}, {1, 2, 0, 1}, {1, 4, 3, 56}, {3, 2, 1, 56}},
      {"rows left over of many", {1, 12, 13, 7}, {2, 3, 4, 7}, {2, 2}, {0, 0, 0, 0}, {1, 6, 5, 56}, {2, 2, 1, 56}},
      {"63 channels", {1, 7, 10, 7}, {2, 4, 3, 7}, {3, 3}, {0, 0, 0, 0}, {1, 3, 3, 64}, {2, 2, 1, 64}},
      {"more than 64 channels", {1, 17, 19, 1}, {2, 8, 9, 1}, {8, 9}, {0, 0, 0, 0}, {}, {}},
      {"72 channels of three", {1, 17, 19, 3}, {2, 8, 3, 3}, {8, 3}, {0, 0, 0, 0}, {}, {}},
      {"72 channels the other way", {1, 17, 19, 3}, {2, 3, 8, 3}, {3, 8}, {0, 0, 0, 0}, {}, {}},
      {"8 channels", {1, 6, 5, 8}, {4, 2, 2, 8}, {1, 1}, {0, 0, 0, 0}, {}, {}},
      {"many, dilated across", {1, 9, 9, 3}, {2, 5, 5, 3}, {1, 1}, {0, 0, 0, 0}, {1, 9, 1, 16}, {2, 5, 1, 16}, {1, 2}},
      {"blocks of few, rows of many", {2, 9, 11, 3}, {2, 5, 9, 3}, {3, 4}, {1, 0, 2, 1}, {2, 3, 4, 40}, {2, 2, 3, 40}},
      {"many, dilated", {1, 9, 9, 3}, {2, 5, 5, 3}, {1, 1}, {0, 0, 0, 0}, {}, {}, {2, 1}},
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
    check_same(after, before, c);
  }
}

TEST_CASE("convolutions of few channels get four where the device's kernels read pixels as they are") {
  for (const int64_t channels : {1, 3, 4}) {
    const Deep c{"first of a residual net", {2, 17, 20, channels}, {4, 7, 5, channels}, {3, 2}, {3, 1, 2, 0}, {}, {}};
    const Graph before = convolutions(c), after = with_deep_inputs(before, {.pairs_pixels = always});
    const Node &forward = node_of(after, "convolution"), &backward = node_of(after, "convolution_weight_gradient");
    CHECK(after.shape(forward.inputs[0]) == Shape{2, 17, 20, 4});
    CHECK(after.shape(forward.inputs[1]) == Shape{4, 7, 5, 4});
    CHECK(backward.inputs[0] == forward.inputs[0]);
    CHECK(after.shape(backward.outputs[0]) == Shape{4, 7, 5, 4});
    CHECK((after.node_count() == before.node_count()) == (channels == 4));  // nothing is filled up
    check_same(after, before, c);
  }
}
