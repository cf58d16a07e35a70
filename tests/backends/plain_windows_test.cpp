// The plain kernels of convolution and pooling, which everything else is tested against, against their sums written
// out here over padded copies; adjoints by what an adjoint is; and what is said about sizes that do not fit.
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

#include "backends/graph/windows.h"
#include "tests/backends/indices.h"
#include "tests/backends/run_case.h"

using namespace neon;
using namespace neon::test;
using Catch::Contains;

namespace {

// x with `padding` (two numbers an axis from axis 1 on) of `value` around.
Tensor padded(const Tensor& x, const Index& padding, double value) {
  Shape shape = x.shape();
  for (size_t i = 0; i < padding.size() / 2; ++i)
    shape = shape.with(int(i) + 1, shape[int(i) + 1] + padding[2 * i] + padding[2 * i + 1]);
  Tensor out(DType::f64, shape);
  for (int64_t i = 0; i < out.elements(); ++i) out.set(i, value);
  each_index(x.shape(), [&](const Index& at) {
    Index to = at;
    for (size_t i = 0; i < padding.size() / 2; ++i) to[i + 1] += padding[2 * i];
    out.set(flat(shape, to), x.at(flat(x.shape(), at)));
  });
  return out;
}

CaseRun plain_run(const OpCase& c) { return run_case(c, DType::f64, DType::f64, {.plain = true}); }

double dot(const Tensor& a, const Tensor& b) {
  REQUIRE(a.shape() == b.shape());
  double out = 0;
  for (int64_t i = 0; i < a.elements(); ++i) out += a.at(i) * b.at(i);
  return out;
}

// The window's elements of output `at` (without the batch), in order.
std::vector<double> elements(const OpCase& c, const Tensor& around, const Index& at) {
  const auto& strides = c.attributes.integers("strides");
  std::vector<double> out;
  each_index(Shape(c.attributes.integers("window")), [&](const Index& place) {
    Index from = at;
    for (size_t i = 0; i < place.size(); ++i) from[i + 1] = at[i + 1] * strides[i] + place[i];
    out.push_back(around.at(flat(around.shape(), from)));
  });
  return out;
}

std::string complaint(const std::string& op, const std::vector<Shape>& shapes, const Attributes& attributes) {
  Graph graph;
  std::vector<Value> inputs;
  for (size_t i = 0; i < shapes.size(); ++i) inputs.push_back(graph.input(text("in", i), DType::f32, shapes[i]));
  try {
    graph.add_all(op, inputs, attributes);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::config);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("plain convolution, by the formula") {
  for (const OpCase& c : cases_of(*find_op("convolution"))) {
    INFO(c.to_string());
    const CaseRun run = plain_run(c);
    const Tensor &w = run.inputs[1], &y = run.outputs[0];
    const Tensor x = padded(run.inputs[0], c.attributes.integers("padding"), 0);
    const auto &strides = c.attributes.integers("strides"), &dilation = c.attributes.integers("dilation");
    const int64_t of_group = w.shape().back(), maps = w.shape()[0] / c.attributes.integer("groups");
    Index from, weight(size_t(w.shape().rank()));
    each_index(y.shape(), [&](const Index& at) {
      double total = 0;
      weight[0] = at.back();
      each_index(w.shape().slice(1, w.shape().rank()), [&](const Index& tap) {
        from = at;
        for (size_t i = 0; i + 1 < tap.size(); ++i) from[i + 1] = at[i + 1] * strides[i] + tap[i] * dilation[i];
        from.back() = at.back() / maps * of_group + tap.back();
        std::copy(tap.begin(), tap.end(), weight.begin() + 1);
        total += x.at(flat(x.shape(), from)) * w.at(flat(w.shape(), weight));
      });
      REQUIRE(close(y.at(flat(y.shape(), at)), total));
    });
  }
}

// <convolution(x, w), g> = <x, data_gradient(g, w)> = <w, weight_gradient(x, g)>: of linear maps there is one adjoint.
TEST_CASE("plain gradients of convolution are its adjoints") {
  const auto forward = cases_of(*find_op("convolution")), data = cases_of(*find_op("convolution_data_gradient")),
             weight = cases_of(*find_op("convolution_weight_gradient"));
  for (size_t i = 0; i < forward.size(); ++i) {
    INFO(forward[i].to_string());
    Graph graph;
    auto input = [&](const char* name, const CaseInput& like) { return graph.input(name, DType::f64, like.shape); };
    const Value x = input("x", forward[i].inputs[0]), w = input("w", forward[i].inputs[1]),
                g = input("g", data[i].inputs[0]);
    graph.output("y", graph.add("convolution", {x, w}, forward[i].attributes));
    graph.output("dx", graph.add("convolution_data_gradient", {g, w}, data[i].attributes));
    graph.output("dw", graph.add("convolution_weight_gradient", {x, g}, weight[i].attributes));
    Variables variables;
    const auto program = compile_for_cpu(graph, variables, {.plain = true});
    const Tensor x_data = case_data(forward[i], 0, DType::f64, DType::f64),
                 w_data = case_data(forward[i], 1, DType::f64, DType::f64),
                 g_data = case_data(data[i], 0, DType::f64, DType::f64);
    program->bind("x", x_data.data()), program->bind("w", w_data.data()), program->bind("g", g_data.data());
    program->run(0);
    const double product = dot(program->output("y"), g_data);
    CHECK(dot(x_data, program->output("dx")) == Approx(product).margin(1e-9));
    CHECK(dot(w_data, program->output("dw")) == Approx(product).margin(1e-9));
  }
}

TEST_CASE("plain gradients of data are convolutions of filters turned around, where windows step by one") {
  int turned = 0;
  for (const OpCase& c : cases_of(*find_op("convolution_data_gradient"))) {
    const Shape& w = c.inputs[1].shape;
    const int last = w.rank() - 1;
    const auto windows = windows_of(c.attributes, {w.begin() + 1, w.end() - 1}).turned();
    if (!windows || c.attributes.integer("groups") != 1) continue;
    INFO(c.to_string());
    const CaseRun run = plain_run(c);
    Tensor around(DType::f64, w.with(0, w[last]).with(last, w[0]));
    each_index(w, [&](const Index& at) {
      Index to = at;
      std::swap(to.front(), to.back());
      for (int axis = 1; axis < last; ++axis) to[size_t(axis)] = w[axis] - 1 - at[size_t(axis)];
      around.set(flat(around.shape(), to), run.inputs[1].at(flat(w, at)));
    });
    Graph graph;
    const Value y = graph.input("y", DType::f64, c.inputs[0].shape),
                filters = graph.input("w", DType::f64, around.shape());
    graph.output("x", convolution(graph, y, filters, *windows, 1));
    Variables variables;
    const auto program = compile_for_cpu(graph, variables, {.plain = true});
    program->bind("y", run.inputs[0].data()), program->bind("w", around.data());
    program->run(0);
    const Tensor x = program->output("x");
    REQUIRE(x.shape() == run.outputs[0].shape());
    for (int64_t i = 0; i < x.elements(); ++i) REQUIRE(close(x.at(i), run.outputs[0].at(i)));
    ++turned;
  }
  CHECK(turned > 20);
}

TEST_CASE("windows are turned around where they step by one and none sees padding alone") {
  auto turned = [](int64_t size, int64_t stride, Index padding, int64_t dilation) {
    return Windows{{size}, {stride}, {padding[0]}, {padding[1]}, {dilation}}.turned();
  };
  CHECK_FALSE(turned(3, 2, {1, 1}, 1));
  CHECK_FALSE(turned(3, 1, {3, 0}, 1));
  CHECK_FALSE(turned(3, 1, {0, 3}, 1));
  const auto full = turned(3, 1, {2, 0}, 1), dilated = turned(4, 1, {1, 2}, 3);
  REQUIRE((full && dilated));
  CHECK((full->before == Index{0} && full->after == Index{2}));
  // 3 * 3 elements from the first place to the last.
  CHECK((dilated->before == Index{8} && dilated->after == Index{7} && dilated->dilation == Index{3}));
}

TEST_CASE("plain max pooling takes the first of the largest, and no padding") {
  for (const OpCase& c : cases_of(*find_op("pool_max"))) {
    INFO(c.to_string());
    const CaseRun run = plain_run(c);
    const Tensor x = padded(run.inputs[0], c.attributes.integers("padding"), -HUGE_VAL);
    CHECK(run.outputs[1].dtype() == (c.length > 255 ? DType::i32 : DType::u8));
    each_index(run.outputs[0].shape(), [&](const Index& at) {
      const auto seen = elements(c, x, at);
      const auto best = std::max_element(seen.begin(), seen.end());
      const int64_t i = flat(run.outputs[0].shape(), at);
      REQUIRE(run.outputs[0].at(i) == *best);
      REQUIRE(run.outputs[1].at(i) == double(best - seen.begin()));
    });
  }
}

TEST_CASE("plain mean pooling") {
  for (const OpCase& c : cases_of(*find_op("pool_avg"))) {
    INFO(c.to_string());
    const CaseRun run = plain_run(c);
    const bool all = c.attributes.integer("count_padding");
    const Tensor x = padded(run.inputs[0], c.attributes.integers("padding"), all ? 0 : NAN);
    each_index(run.outputs[0].shape(), [&](const Index& at) {
      double total = 0, count = 0;
      for (double value : elements(c, x, at))
        if (value == value) total += value, ++count;
      REQUIRE(close(run.outputs[0].at(flat(run.outputs[0].shape(), at)), total / count));
    });
  }
}

TEST_CASE("plain gradients of pooling put each number where it came from") {
  for (const OpCase& c : cases_of(*find_op("pool_max_gradient"))) {
    INFO(c.to_string());
    const CaseRun run = plain_run(c);
    const auto &window = c.attributes.integers("window"), &strides = c.attributes.integers("strides"),
               &padding = c.attributes.integers("padding");
    std::vector<double> expected(size_t(run.outputs[0].elements()), 0);
    each_index(run.inputs[0].shape(), [&](const Index& at) {
      const int64_t i = flat(run.inputs[0].shape(), at);
      int64_t place = int64_t(run.inputs[1].at(i));
      Index to = at;
      for (size_t axis = window.size(); axis-- > 0; place /= window[axis])
        to[axis + 1] = at[axis + 1] * strides[axis] - padding[2 * axis] + place % window[axis];
      for (size_t axis = 1; axis < to.size(); ++axis)
        REQUIRE((to[axis] >= 0 && to[axis] < run.outputs[0].shape()[int(axis)]));
      expected[size_t(flat(run.outputs[0].shape(), to))] += run.inputs[0].at(i);
    });
    for (size_t i = 0; i < expected.size(); ++i) REQUIRE(close(run.outputs[0].at(int64_t(i)), expected[i]));
  }
}

TEST_CASE("NaN is the largest of a window, among equals the first is taken") {
  for (bool plain : {false, true}) {
    Graph graph;
    const Value x = graph.input("x", DType::f32, {1, 2, 6, 1});
    const auto pooled = graph.add_all("pool_max", {x},
                                      {{"window", Index{2, 2, 1}}, {"strides", Index{2, 2, 1}}, {"padding", Index(6)}});
    graph.output("y", pooled[0]), graph.output("position", pooled[1]);
    Variables variables;
    const auto program = compile_for_cpu(graph, variables, {.plain = plain});
    const float inf = HUGE_VALF, data[] = {1, NAN, 2, 5, -inf, -inf, NAN, 7, 5, 5, -inf, -inf};
    program->bind("x", data);
    program->run(0);
    const Tensor y = program->output("y"), position = program->output("position");
    CHECK(std::isnan(y.at(0)));
    CHECK((y.at(1) == 5 && y.at(2) == -inf));
    CHECK((position.at(0) == 1 && position.at(1) == 1 && position.at(2) == 0));
  }
}

TEST_CASE("windows that cannot be are errors with their sizes") {
  auto convolution = [](const Shape& x, const Shape& w, Index strides = {1, 1}, Index padding = {0, 0, 0, 0},
                        Index dilation = {1, 1}, int64_t groups = 1) {
    return complaint("convolution", {x, w},
                     {{"strides", strides}, {"padding", padding}, {"dilation", dilation}, {"groups", groups}});
  };
  CHECK(convolution({2, 4, 4, 3}, {8, 3, 3, 3}) == "");
  CHECK(convolution({2, 4, 4, 3}, {8, 3, 5, 3}) ==
        "a window of 5 does not fit in (4, 4) along axis 1, where there are 4 elements and padding of 0 and 0");
  CHECK(
      convolution({2, 4, 4, 3}, {8, 3, 3, 3}, {1, 1}, {0, 1, 0, 0}, {3, 1}) ==
      "a window of 3 with dilation 3 does not fit in (4, 4) along axis 0, where there are 4 elements and padding of 0 "
      "and 1");
  CHECK(convolution({2, 4, 4, 3}, {8, 3, 3, 2}) ==
        "convolution of (2, 4, 4, 3) in 1 group takes filters of 3 channels, got (8, 3, 3, 2)");
  CHECK(convolution({2, 4, 4, 4}, {6, 3, 3, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}, 4) ==
        "4 channels and 6 feature maps do not go into 4 groups evenly");
  CHECK(convolution({2, 4, 4, 3}, {8, 3, 3}) ==
        "convolution takes two arrays of four or five axes, got shapes (2, 4, 4, 3) and (8, 3, 3)");
  CHECK(convolution({2, 4, 4, 3}, {8, 3, 3, 3}, {1}) == "strides (1) should be a list of 2 numbers");
  CHECK(convolution({2, 4, 4, 3}, {8, 3, 3, 3}, {0, 1}) == "strides 0 is not in [1, 2147483647]");
  CHECK(convolution({2, 4, 4, 3}, {8, 3, 3, 3}, {1, 1}, {0, -1, 0, 0}) == "padding -1 is not in [0, 2147483647]");
  CHECK_THAT(complaint("convolution_data_gradient", {{2, 3, 3, 8}, {8, 3, 3, 3}},
                       {{"strides", Index{1, 1}},
                        {"padding", Index(4)},
                        {"dilation", Index{1, 1}},
                        {"groups", int64_t(1)},
                        {"sizes", Index{4, 5}}}),
             Contains("windows of (3, 3) over (4, 5) give (2, 3), not (3, 3)"));
  auto pooling = [](const Shape& x, Index window, Index strides, Index padding) {
    return complaint("pool_max", {x}, {{"window", window}, {"strides", strides}, {"padding", padding}});
  };
  CHECK(pooling({2, 4, 4, 3}, {2, 2, 1}, {2, 2, 1}, Index(6)) == "");
  CHECK_THAT(pooling({2, 4, 4, 3}, {2, 2, 1}, {2, 2, 1}, {2, 0, 0, 0, 0, 0}),
             Contains("along axis 1 a window of 2 with stride 2 would lie in the padding of 2 and 0 alone"));
  CHECK_THAT(pooling({2, 4, 4, 3}, {2, 2, 1}, {3, 2, 1}, {0, 5, 0, 0, 0, 0}),
             Contains("would lie in the padding of 0 and 5 alone"));
  CHECK_THAT(pooling({2, 4, 4, 3}, {2, 2}, {2, 2}, Index(4)), Contains("a pooling window (2, 2) and an array"));
}
