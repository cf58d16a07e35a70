// Max pooling on the GPU: by strips of windows, and what its gradient takes along.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "backends/device/device.h"
#include "backends/graph/expression.h"
#include "backends/graph/ops.h"
#include "neon/core/random.h"
#include "tests/backends/cuda/against_plain.h"
#include "tests/backends/cuda/part.h"
#include "tests/backends/pooled_cases.h"

using namespace neon;
using namespace neon::test;

TEST_CASE("first convolutions in 16 bits take max pooling along on the GPU, their filters' gradients that of pooling",
          "[parts]") {
  for (const PooledConvolutionCase& c : part_of(pooled_convolution_cases())) {
    // Not in f32: algorithms of cuDNN's that transform pixels make unequal what is equal, and another is the first.
    check_against_plain(c.name, c.build, {DType::f16, DType::bf16, DType::f64});
    if (c.taken) check_against_plain(c.name + ", TF32", c.build, {DType::f32}, true);
    for (DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      INFO(c.name << " in " << std::string(name_of(dtype)));
      Variables variables;
      const auto program = compile_program(build_branches(c.build, dtype), variables, {.gpu = true});
      const auto& kernels = program->lowered().kernels;
      const auto found =
          std::ranges::find_if(kernels, [](const LoweredKernel& k) { return k.takes(Attachment::Kind::pooling); });
      REQUIRE((found != kernels.end()) == (c.taken && dtype != DType::f32));  // exact
      if (found == kernels.end()) continue;
      CHECK(program->implementations()[size_t(found - kernels.begin())] == "own");
      CHECK(found->relu() == c.relu);
      const bool gradient =
          std::ranges::any_of(kernels, [](const LoweredKernel& k) { return k.takes(Attachment::Kind::filters); });
      CHECK(gradient == c.gradient);
    }
  }
}

TEST_CASE("max pooling's gradient takes relu's derivative and the bias's gradient along on the GPU", "[parts]") {
  for (const PooledCase& c : part_of(pooled_cases())) {
    check_against_plain(c.name, c.build);
    for (DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
      INFO(c.name << " in " << std::string(name_of(dtype)));
      Variables variables;
      const auto program = compile_program(build_branches(c.build, dtype), variables, {.gpu = true});
      const auto& kernels = program->lowered().kernels;
      const auto found =
          std::ranges::find_if(kernels, [](const LoweredKernel& k) { return k.is(ops::pool_max_gradient); });
      REQUIRE(found != kernels.end());
      CHECK(program->implementations()[size_t(found - kernels.begin())] == "own");
      CHECK((found->derivative() != nullptr) == c.derivative);
      CHECK((found->outputs.size() == 2) == c.sums);
    }
  }
}

namespace {

using Axes = std::vector<int64_t>;

struct Strips {
  const char* name;
  Shape x;  // (N,...,C), enough for a thread to have several windows of a GPU of 132 processors
  Axes window, strides, padding;
  bool relu = false;
};

const Strips kStrips[] = {
    {"neighbours, in seven", {40, 28, 28, 264}, {3, 3, 1}, {1, 1, 1}, {1, 1, 1, 1, 0, 0}},
    {"neighbours, of which strips leave some over", {36, 30, 29, 264}, {3, 3, 1}, {1, 1, 1}, {1, 1, 0, 1, 0, 0}, true},
    {"every second, four channels", {32, 57, 56, 132}, {3, 3, 1}, {2, 2, 1}, {0, 1, 0, 1, 0, 0}, true},
    {"two beside each other, two channels", {24, 30, 30, 130}, {2, 2, 1}, {1, 1, 1}, {0, 0, 0, 0, 0, 0}},
    {"volumes", {8, 6, 28, 28, 264}, {2, 3, 3, 1}, {2, 1, 1, 1}, {0, 0, 1, 1, 1, 1, 0, 0}},
};

// Few numbers, so that many are equal; NaN now and then.
Tensor some_numbers(DType dtype, const Shape& shape) {
  const double from[] = {-INFINITY, -2, -1, -1, -0.0, 0, 0.5, 1, 1.5, -3};
  Tensor out(dtype, shape);
  Stream stream(5, "strips");
  for (int64_t i = 0; i < out.elements(); ++i) {
    const double drawn = stream.uniform() * 1000;
    out.set(i, drawn < 2 ? NAN : drawn < 4 ? INFINITY : from[size_t(drawn) % 10]);
  }
  return out;
}

// Row-major coordinates of an element of a sample, without channels.
Axes coordinates(int64_t i, const Shape& shape) {
  Axes out(size_t(shape.rank()) - 2);
  for (size_t axis = out.size(); axis-- > 0; i /= shape[int(axis) + 1]) out[axis] = i % shape[int(axis) + 1];
  return out;
}

// The first of the largest that each window of pixel `o` sees, channel by channel: visit(channel, number, place).
template <typename Visit>
void largest_of(const Strips& c, const std::vector<float>& x, int64_t sample, const Axes& o, Visit visit) {
  const int64_t channels = c.x.back(), places = Shape(c.window).elements();
  std::vector<std::pair<int64_t, int64_t>> seen;  // where a pixel's channels begin, and its place in the window
  const Shape window(Axes(c.window.begin(), c.window.end() - 1));
  for (int64_t place = 0; place < places; ++place) {
    int64_t rest = place, at = sample;
    bool inside = true;
    Axes r(o.size());
    for (size_t axis = o.size(); axis-- > 0; rest /= window[int(axis)]) r[axis] = rest % window[int(axis)];
    for (size_t axis = 0; axis < o.size(); ++axis) {
      const int64_t size = c.x[int(axis) + 1], i = o[axis] * c.strides[axis] - c.padding[2 * axis] + r[axis];
      inside = inside && i >= 0 && i < size;
      at = at * size + i;
    }
    if (inside) seen.push_back({at * channels, place});
  }
  for (int64_t channel = 0; channel < channels; ++channel) {
    float best = x[size_t(seen[0].first + channel)];
    int64_t where = seen[0].second;
    for (const auto& [at, place] : seen) {
      const float number = x[size_t(at + channel)];
      if (!std::isnan(best) && (number > best || std::isnan(number))) best = number, where = place;
    }
    visit(channel, best, where);
  }
}

}  // namespace

TEST_CASE("max pooling in 16 bits by strips of windows: the first of the largest, NaN above all", "[parts]") {
  for (const Strips& c : part_of(std::vector<Strips>(std::begin(kStrips), std::end(kStrips))))
    for (DType dtype : {DType::f16, DType::bf16}) {
      INFO(c.name << " in " << std::string(name_of(dtype)));
      Graph graph;
      const Value input = graph.input("x", dtype, c.x);
      const auto pooled =
          graph.add_all("pool_max", {input}, {{"window", c.window}, {"strides", c.strides}, {"padding", c.padding}});
      graph.output("y", c.relu ? Value(apply("relu", Expr(graph, pooled[0]))) : pooled[0]);
      graph.output("place", pooled[1]);
      Variables variables;
      const auto program = compile_program(graph, variables, {.gpu = true});
      CHECK(program->lowered().kernels.size() == 1);
      const Tensor x = some_numbers(dtype, c.x);
      program->bind("x", x.data());
      program->run(0);
      const Tensor y = program->output("y").clone(), place = program->output("place").clone();
      std::vector<float> numbers;
      for (int64_t i = 0; i < x.elements(); ++i) numbers.push_back(float(x.at(i)));
      const Shape& shape = y.shape();
      const int64_t channels = shape.back(), pixels = shape.elements() / shape[0] / channels;
      int64_t wrong = 0;
      for (int64_t pixel = 0; pixel < shape[0] * pixels; ++pixel)
        largest_of(c, numbers, pixel / pixels, coordinates(pixel % pixels, shape),
                   [&](int64_t channel, float best, int64_t where) {
                     const int64_t i = pixel * channels + channel;
                     const double got = y.at(i), expected = c.relu && best < 0 ? 0 : best;
                     wrong += !(got == expected || (std::isnan(got) && std::isnan(expected)));
                     wrong += place.at(i) != double(where);
                   });
      CHECK(wrong == 0);
    }
}
