// RoiPooling in a net: regions out of the samples, gradients to the feature maps, what is said of wrong inputs.
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/support/golden.h"
#include "tests/support/net.h"

using namespace neon;
using namespace neon_test;

namespace {

// Samples of 2 images (2,4,4) with two regions each: 32 pixels, then 8 coordinates.
constexpr int64_t kPixels = 32, kNumbers = 40;

std::string net(const std::string& more, const std::string& after) {
  return "[Slice: {end_idx: 32, name: pixels}, Reshape: {reshape: [2, 4, 4], name: images}, Slice: {begin_idx: 32, "
         "end_idx: 40, inputs: [data]}, Reshape: {reshape: [2, 4], name: regions}, RoiPooling: {inputs: [images, "
         "regions], HW: [2, 1], spatial_scale: 0.5" +
         more + "}" + after + "]";
}

Tensor samples() {
  Tensor out(DType::f32, {2, kNumbers});
  const double corners[] = {0, 0, 6, 6, 2, 4, 4, 4, 1, 0, 7, 3, 6, 6, 0, 0};
  for (int64_t n = 0; n < 2; ++n)
    for (int64_t i = 0; i < kNumbers; ++i)
      out.set(n * kNumbers + i, i < kPixels ? std::sin(double(i * (3 + n))) : corners[size_t(8 * n + i - kPixels)]);
  return out;
}

std::string error(const std::string& layers, const Shape& sample) {
  Graph graph;
  LayerContext context(graph, true, DType::f32, 0);
  try {
    network_of(yaml_of(layers)).forward(context, {graph, graph.input("x", DType::f32, Shape{2}.concat(sample))});
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::config);
    return error.what();
  }
  return "nothing";
}

}  // namespace

TEST_CASE("regions of each sample's own image are pooled, and stand side by side as depth") {
  Graph graph;
  LayerContext context(graph, false, DType::f32, 0);
  const Expr y =
      network_of(yaml_of(net("", ""))).forward(context, {graph, graph.input("x", DType::f32, {2, kNumbers})});
  REQUIRE(y.shape() == Shape{2, 2, 2, 2, 1});  // channels first, as the samples have no pixels: (C, R, height, width)
  graph.output("y", y);
  Variables variables;
  const auto program = compile_for_cpu(graph, variables, {.threads = 1});
  const Tensor x = samples();
  program->bind("x", x.data());
  program->run(0);
  // In pixels of the images, halves rounded up: rows and columns of each region, the rows cut in two.
  const int64_t bins[2][2][2][4] = {{{{0, 2, 0, 4}, {2, 4, 0, 4}}, {{2, 3, 1, 3}, {2, 3, 1, 3}}},
                                    {{{0, 2, 1, 4}, {1, 3, 1, 4}}, {{3, 4, 3, 4}, {3, 4, 3, 4}}}};
  for (int64_t n = 0; n < 2; ++n)
    for (int64_t c = 0; c < 2; ++c)
      for (int64_t r = 0; r < 2; ++r)
        for (int64_t p = 0; p < 2; ++p) {
          const auto& [top, bottom, left, right] = bins[n][r][p];
          double best = -2;
          for (int64_t i = top; i < bottom; ++i)
            for (int64_t j = left; j < right; ++j) best = std::max(best, x.at(n * kNumbers + (c * 4 + i) * 4 + j));
          INFO("sample " << n << ", map " << c << ", region " << r << ", bin " << p);
          CHECK(program->output("y").at(((n * 2 + c) * 2 + r) * 2 + p) == best);
        }
}

TEST_CASE("coordinates that a net of 16 bits would round keep all their digits") {
  constexpr int64_t kColumns = 2100, kColumn = 2049;  // 2048 in f16, and in bf16
  Tensor samples(DType::f32, {1, kColumns + 4});
  for (int64_t i = 0; i < kColumns; ++i) samples.set(i, double(i % 8));
  for (const int64_t i : {0, 2}) samples.set(kColumns + i, double(kColumn));
  for (const char* several : {"", "Reshape: {reshape: [1, 4], name: list}, "})
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      const Network network = network_of(yaml_of(
          text("[Slice: {end_idx: 2100}, Reshape: {reshape: [1, 1, 2100], name: image}, Slice: {begin_idx: 2100, "
               "end_idx: 2104, inputs: [data], name: one}, ",
               several, "RoiPooling: {inputs: [image, ", *several ? "list" : "one", "], HW: 1, spatial_scale: 1}]")));
      const NetData data{samples, Tensor(DType::f32, {1, 1}), 0};
      const StepGraph graph = evaluation_graph(network, nullptr, {}, data.layout(), 1, {.dtype = dtype, .batch = 1});
      Variables variables;
      const auto program = compile_for_cpu(graph.graph, variables, {.threads = 1});
      const int32_t first = 0;
      program->bind("data", samples.data());
      program->bind("indices", &first);
      program->run(0);
      CHECK(program->output("y").at(0) == kColumn % 8);
    }
}

TEST_CASE("a net learns through its regions, unless bprop_enabled is off") {
  for (const bool enabled : {true, false}) {
    const std::string before =
        "[Slice: {end_idx: 32}, Reshape: [2, 4, 4], Conv: {fshape: 3, nofm: 3, padding: 1, init: {Uniform: {low: -1}}, "
        "name: maps}, Slice: {begin_idx: 32, end_idx: 36, inputs: [data], name: region}, RoiPooling: {inputs: [maps, "
        "region], HW: 2, spatial_scale: 0.5, bprop_enabled: ";
    const Network network = network_of(
        yaml_of(before + (enabled ? "true" : "false") + "}, Affine: {nout: 2, init: {Uniform: {low: -1}}}]"));
    const auto cost = Registry<Cost>::get().create(yaml_of("SumSquared"));
    const auto rule = Registry<Optimizer>::get().create(yaml_of("GradientDescentMomentum: {learning_rate: 0.05}"));
    NetData data{samples(), Tensor(DType::f32, {2, 2}), 0};
    for (int64_t i = 0; i < 4; ++i) data.targets.set(i, double(i) / 4);
    TrainingRun run(network, *cost, *rule, data, {.batch = 2});
    for (const Parameter& p : run.graph.parameters) {
      Tensor& w = run.variables.at(p.name);
      for (int64_t i = 0; i < w.elements(); ++i) w.set(i, std::cos(double(i)) / 4);
    }
    const Tensor before_training = run.variables.at("maps/W").clone();
    const double first = run.step({0, 1}, {});
    double last = first;
    for (int i = 0; i < 30; ++i) last = run.step({0, 1}, {});
    CHECK(last < first);
    bool changed = false;
    for (int64_t i = 0; i < before_training.elements(); ++i)
      changed = changed || before_training.at(i) != run.variables.at("maps/W").at(i);
    CHECK(changed == enabled);
  }
}

TEST_CASE("inputs that RoiPooling cannot take are told with what it takes") {
  const auto says = [](const std::string& text) { return Catch::Contains(text); };
  CHECK_THAT(error("[RoiPooling: {inputs: [data]}]", {3, 8, 8}),
             says("takes two inputs, feature maps and regions, and has 1"));
  const std::string two = "[Affine: {nout: 10, init: Kaiming, name: r}, RoiPooling: {inputs: [data, r]}]";
  CHECK_THAT(error(two, {3, 8, 8}), says("takes regions (4) or (R, 4), x1, y1, x2, y2 each, as its second input, got "
                                         "(10); shapes so far: data (3, 8, 8), r (10) -> RoiPooling_0"));
  CHECK_THAT(error("[Affine: {nout: 8, init: Kaiming, name: r}, RoiPooling: {inputs: [data, r]}]", {3, 8, 8}),
             says("got (8); put `Reshape: [2, 4]` before it"));
  CHECK_THAT(error("[Affine: {nout: 5, init: Kaiming, name: r}, RoiPooling: {inputs: [data, r]}]", {3, 8, 8}),
             says("got (5); the number of the sample is left out"));
  CHECK_THAT(error("[Affine: {nout: 4, init: Kaiming, name: r}, RoiPooling: {inputs: [r, r]}]", {3, 8, 8}),
             says("takes feature maps (C, H, W) as its first input, got samples (4)"));
  CHECK_THAT(
      error("[Affine: {nout: 4, init: Kaiming, name: r}, RoiPooling: {inputs: [data, r], HW: [1, 2, 3]}]", {3, 8, 8}),
      says("HW: (1, 2, 3) should be two numbers"));
  CHECK(error("[RoiPooling: {layers: [[SkipNode], [Affine: {nout: 4, init: Kaiming}]]}]", {3, 8, 8}) == "nothing");
}
