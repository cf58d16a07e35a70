// MultiBox and Proposals in a net, against loops over places and anchors.
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/support/golden.h"
#include "tests/support/net.h"

using namespace neon;
using namespace neon_test;

namespace {

constexpr int64_t kRows = 48, kColumns = 80;  // of the images

struct Net {
  Graph graph;
  Variables variables;
  std::optional<LayerContext> context;
  Expr y;
  std::unique_ptr<Program> program;
  Net(const std::string& layers, bool training = false, int64_t classes = 2) {
    context.emplace(graph, training, DType::f64, 0);
    context->classes = classes;
    context->data_channels_last = true;
    const Expr x(graph, graph.input("x", DType::f64, {1, kRows, kColumns, 3}));
    y = network_of(yaml_of(layers)).forward(*context, x);
  }
  void run() {
    graph.output("y", y);
    program = compile_for_cpu(graph, variables, {.threads = 1});
    for (const auto& [name, tensor] : variables.all())
      for (int64_t i = 0; i < tensor.elements(); ++i)
        variables.at(name).set(i, std::sin(double(i * 7) + double(name.size())) / 6);
    std::vector<double> pixels(size_t(kRows * kColumns * 3));
    for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = std::cos(double(i * i % 101));
    program->bind("x", pixels.data());
    program->run(0);
  }
};

std::string complaint_about(const std::string& layers, int64_t classes = 2) {
  try {
    Net net(layers, false, classes);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::config);
    return error.what();
  }
  return "nothing";
}

}  // namespace

TEST_CASE("prior boxes stand about the places of each feature map, in shares of images that are not square") {
  Net net(
      "[Pooling: {fshape: 8, strides: 8, name: a}, Pooling: {fshape: 2, strides: 2, name: b}, MultiBox: {inputs: "
      "[a, b], sizes: [0.25, 0.5, 0.75], aspect_ratios: [[2], [2, 3]], name: m}]");
  REQUIRE(net.context->boxes);
  net.graph.output("priors", net.context->boxes->outputs.priors);
  net.graph.output("scores", net.context->boxes->outputs.scores);
  net.graph.output("offsets", net.context->boxes->outputs.offsets);
  net.run();
  const Tensor priors = net.program->output("priors");
  std::vector<double> expected;
  const double sizes[] = {0.25, 0.5, 0.75};
  const std::vector<double> shapes[] = {{1, 2, 0.5}, {1, 2, 0.5, 3, 1.0 / 3}};
  for (int map = 0; map < 2; ++map) {
    const int rows = map ? 3 : 6, columns = map ? 5 : 10;
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j)
        for (size_t a = 0; a <= shapes[map].size(); ++a) {
          // In pixels: of the smaller side, 48. The second is the square between two sizes.
          const double side = a == 1 ? std::sqrt(sizes[map] * sizes[map + 1]) * 48 : sizes[map] * 48;
          const double ratio = a < 2 ? 1 : shapes[map][a - 1];
          const double width = side * std::sqrt(ratio), height = side / std::sqrt(ratio);
          const double y = (i + 0.5) * (map ? 16 : 8), x = (j + 0.5) * (map ? 16 : 8);
          for (const double number :
               {(x - width / 2) / 80, (y - height / 2) / 48, (x + width / 2) / 80, (y + height / 2) / 48})
            expected.push_back(number);
        }
  }
  REQUIRE(priors.elements() == int64_t(expected.size()));
  for (size_t i = 0; i < expected.size(); ++i) check_close(priors.at(int64_t(i)), expected[i], 1e-12);
  // Filters of the second map give place (1, 2) its third box: 3 scores, then 4 offsets.
  const Tensor y = net.program->output("y"), scores = net.program->output("scores"),
               offsets = net.program->output("offsets");
  const int64_t count = priors.elements() / 4, row = 60 * 4 + (1 * 5 + 2) * 6 + 2;
  REQUIRE(y.shape() == Shape{1, count, 7});
  for (int64_t k = 0; k < 7; ++k)
    check_close(y.at(row * 7 + k), k < 3 ? scores.at(row * 3 + k) : offsets.at(row * 4 + k - 3), 0);
  CHECK(net.variables.at("m_1/W").shape() == Shape{42, 3, 3, 3});
  CHECK(net.variables.at("m_0_bias/b").shape() == Shape{28});
}

namespace {

struct Region {
  double score, x1, y1, x2, y2;
};

std::vector<Region> chosen_of(std::vector<Region> all, size_t candidates, size_t most) {
  std::ranges::stable_sort(all, std::greater(), &Region::score);
  all.resize(std::min(all.size(), candidates));
  std::vector<Region> kept;
  for (const Region& one : all) {
    const auto area = [](const Region& r) { return (r.x2 - r.x1 + 1) * (r.y2 - r.y1 + 1); };
    const bool covered = std::ranges::any_of(kept, [&](const Region& r) {
      const double across = std::min(r.x2, one.x2) - std::max(r.x1, one.x1) + 1,
                   down = std::min(r.y2, one.y2) - std::max(r.y1, one.y1) + 1;
      return across > 0 && down > 0 && across * down / (area(r) + area(one) - across * down) > 0.4;
    });
    if (!covered && kept.size() < most) kept.push_back(one);
  }
  return kept;
}

}  // namespace

TEST_CASE("proposals are anchors that offsets have moved, the best of those that overlap") {
  for (const bool training : {true, false}) {
    INFO("training " << training);
    Net net(
        "[Pooling: {fshape: 16, strides: 16, name: x}, Conv: {fshape: 1, nofm: 12, init: Kaiming, name: s}, Conv: "
        "{inputs: "
        "[x], fshape: 1, nofm: 24, init: Kaiming, name: o}, Proposals: {inputs: [s, o], ratios: [0.5, 1, 2], scales: "
        "[1, "
        "2], most: [9, 4], candidates: [40, 20], least_size: 12, overlap: 0.4}]",
        training);
    // The maps are those of the layers before; their numbers come back by the same weights.
    const Graph& graph = net.graph;
    Value scores, offsets;
    for (int i = 0; i < graph.node_count(); ++i)
      for (const Value value : graph.node(i).outputs) {
        if (graph.shape(value) == Shape{1, 3, 5, 12}) scores = value;
        if (graph.shape(value) == Shape{1, 3, 5, 24} && !offsets) offsets = value;
      }
    Graph& open = net.graph;
    open.output("s", scores), open.output("o", offsets);
    net.run();
    const Tensor s = net.program->output("s"), o = net.program->output("o"), y = net.program->output("y");
    std::vector<Region> all;
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 5; ++j)
        for (int a = 0; a < 6; ++a) {
          const int64_t place = i * 5 + j;
          const double ratio = a / 2 == 0 ? 0.5 : a / 2 == 1 ? 1 : 2;
          const double base = std::nearbyint(16 / std::sqrt(ratio)), tall = std::nearbyint(base * ratio);
          const double width = base * (a % 2 + 1), height = tall * (a % 2 + 1);
          // As py-faster-rcnn has them: the last pixel belongs to a box.
          const double x1 = 7.5 - 0.5 * (width - 1) + 16 * j, y1 = 7.5 - 0.5 * (height - 1) + 16 * i;
          const double mid_x = x1 + 0.5 * width, mid_y = y1 + 0.5 * height;
          const auto d = [&](int64_t k) { return o.at(place * 24 + a * 4 + k); };
          const double x = d(0) * width + mid_x, v = d(1) * height + mid_y, w = std::exp(d(2)) * width,
                       h = std::exp(d(3)) * height;
          const auto cut = [](double at, double size) { return std::clamp(at, 0.0, size - 1); };
          Region region{s.at(place * 12 + 6 + a) - s.at(place * 12 + a), cut(x - w / 2, 80), cut(v - h / 2, 48),
                        cut(x + w / 2, 80), cut(v + h / 2, 48)};
          if (region.x2 - region.x1 + 1 >= 12 && region.y2 - region.y1 + 1 >= 12) all.push_back(region);
        }
    CHECK(all.size() < 90);
    const std::vector<Region> kept = chosen_of(all, training ? 40 : 20, training ? 9 : 4);
    REQUIRE(y.shape() == Shape{1, training ? 9 : 4, 4});
    for (size_t r = 0; r < size_t(y.shape()[1]); ++r) {
      const Region none{}, &region = r < kept.size() ? kept[r] : none;
      const double expected[] = {region.x1, region.y1, region.x2, region.y2};
      for (size_t k = 0; k < 4; ++k) check_close(y.at(int64_t(4 * r + k)), expected[k], 1e-10);
    }
  }
}

TEST_CASE("inputs that layers of detection cannot take are told with what they take") {
  const auto says = [](const std::string& text) { return Catch::Contains(text); };
  const std::string maps = "[Pooling: {fshape: 8, strides: 8, name: a}, ";
  CHECK_THAT(complaint_about(maps + "MultiBox: {sizes: [0.2]}]"),
             says("sizes: a size for each input, and one more; 1 is too few"));
  CHECK_THAT(complaint_about(maps + "MultiBox: {sizes: [0.5, 0.2]}]"), says("sizes: 0.5 and then 0.2: they must rise"));
  CHECK_THAT(complaint_about(maps + "MultiBox: {sizes: [0.1, 0.2, 0.3]}]"),
             says("sizes: 3 numbers for 1 inputs; give 2"));
  CHECK_THAT(complaint_about(maps + "MultiBox: {sizes: [0.1, 0.2], aspect_ratios: [[1], [2]]}]"),
             says("aspect_ratios: 2 lists for 1 inputs; give a list for each, as [[2], [2, 3]], or one for all"));
  CHECK_THAT(complaint_about(maps + "MultiBox: {sizes: [0.1, 0.2], fshape: 4}]"),
             says("fshape: 4 is even, and a filter needs a middle"));
  CHECK_THAT(complaint_about(maps + "MultiBox: {sizes: [0.1, 0.2]}]", 0),
             says("MultiBox finds objects in images, and the data set has no classes"));
  CHECK_THAT(complaint_about("[Affine: {nout: 4}, MultiBox: {sizes: [0.1, 0.2]}]"),
             says("MultiBox takes feature maps (C, H, W), got (4)"));
  CHECK_THAT(complaint_about("[Proposals]"), says("takes two inputs, scores and offsets, and has 1"));
  CHECK_THAT(
      complaint_about("[Proposals: {inputs: [data, data]}]"),
      says(
          "Proposals of 9 anchors a place takes scores (9, H, W) or (18, H, W) and offsets (36, H, W), got (3, 48, 80) "
          "and (3, 48, 80)"));
  CHECK_THAT(complaint_about("[Proposals: {most: [1, 2, 3]}]"), says("most: (1, 2, 3) should be one number, or two"));
}
