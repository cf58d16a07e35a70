// MultiBox and Proposals in a net, against loops over places and anchors.
#include <array>
#include <catch2/catch.hpp>
#include <cmath>

#include "neon/core/random.h"
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
  std::vector<float> objects;
  // `objects`: rows of class, corners and 0, which a training step knows.
  Net(const std::string& layers, bool training = false, int64_t classes = 2, std::vector<float> objects = {})
      : objects(std::move(objects)) {
    context.emplace(graph, training, DType::f64, 5);
    if (const auto rows = int64_t(this->objects.size()) / kBoxNumbers)
      context->target_boxes = graph.input("boxes", DType::f32, {1, rows, kBoxNumbers});
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
    if (context->target_boxes) program->bind("boxes", objects.data());
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

namespace {

const char* const kMaps =
    "[Pooling: {fshape: 16, strides: 16, name: x}, Conv: {fshape: 1, nofm: 12, init: Kaiming, name: s}, Conv: {inputs: "
    "[x], fshape: 1, nofm: 24, init: Kaiming, name: o}, Proposals: {inputs: [s, o], name: p, ratios: [0.5, 1, 2], "
    "scales: [1, 2], most: [9, 4], candidates: [40, 20], least_size: 12, overlap: 0.4";

// A net of Proposals whose maps are outputs, too: their numbers come back by the same weights.
void run_with_maps(Net& net) {
  Graph& graph = net.graph;
  Value scores, offsets;
  for (int i = 0; i < graph.node_count(); ++i)
    for (const Value value : graph.node(i).outputs) {
      if (graph.shape(value) == Shape{1, 3, 5, 12}) scores = value;
      if (graph.shape(value) == Shape{1, 3, 5, 24} && !offsets) offsets = value;
    }
  graph.output("s", scores), graph.output("o", offsets);
  net.run();
}

// An anchor, the score and the offsets that a net gave it, and where these move it.
struct Anchor {
  Region region;
  double x, y, width, height;
  std::array<double, 4> offsets;
};

std::vector<Anchor> anchors_of(const Program& program) {
  const Tensor s = program.output("s"), o = program.output("o");
  std::vector<Anchor> all;
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
        all.push_back({{s.at(place * 12 + 6 + a) - s.at(place * 12 + a), cut(x - w / 2, 80), cut(v - h / 2, 48),
                        cut(x + w / 2, 80), cut(v + h / 2, 48)},
                       mid_x,
                       mid_y,
                       width,
                       height,
                       {d(0), d(1), d(2), d(3)}});
      }
  return all;
}

std::vector<Region> proposed(const std::vector<Anchor>& anchors, size_t candidates, size_t most) {
  std::vector<Region> large;
  for (const auto& [r, x, y, width, height, offsets] : anchors)
    if (r.x2 - r.x1 + 1 >= 12 && r.y2 - r.y1 + 1 >= 12) large.push_back(r);
  CHECK(large.size() < anchors.size());
  return chosen_of(large, candidates, most);
}

void check_regions(const Tensor& y, const std::vector<Region>& expected, int64_t count) {
  REQUIRE(y.shape() == Shape{1, count, 4});
  for (size_t r = 0; r < size_t(count); ++r) {
    const Region none{}, &region = r < expected.size() ? expected[r] : none;
    const double corners[] = {region.x1, region.y1, region.x2, region.y2};
    for (size_t k = 0; k < 4; ++k) check_close(y.at(int64_t(4 * r + k)), corners[k], 1e-10);
  }
}

}  // namespace

TEST_CASE("proposals are anchors that offsets have moved, the best of those that overlap") {
  for (const bool training : {true, false}) {
    INFO("training " << training);
    Net net(std::string(kMaps) + "}]", training);
    run_with_maps(net);
    check_regions(net.program->output("y"), proposed(anchors_of(*net.program), training ? 40 : 20, training ? 9 : 4),
                  training ? 9 : 4);
  }
}

namespace {

struct Object {
  int label;
  double x1, y1, x2, y2;  // shares of the image
};
using Overlaps = std::vector<std::vector<double>>;  // of each box with each object

double overlap_of_boxes(const Object& a, const Object& b) {
  const double across = std::min(a.x2, b.x2) - std::max(a.x1, b.x1), down = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  const auto area = [](const Object& o) { return (o.x2 - o.x1) * (o.y2 - o.y1); };
  return across > 0 && down > 0 ? across * down / (area(a) + area(b) - across * down) : 0;
}

// The object that each box shows, -1 for the background, -2 for neither.
std::vector<int> shown(const std::vector<Object>& boxes, const std::vector<Object>& objects, double least,
                       double below) {
  std::vector<int> out;
  for (const Object& box : boxes) {
    size_t best = 0;
    for (size_t k = 1; k < objects.size(); ++k)
      if (overlap_of_boxes(box, objects[k]) > overlap_of_boxes(box, objects[best])) best = k;
    const double most = overlap_of_boxes(box, objects[best]);
    out.push_back(most >= least ? int(best) : most < below ? -1 : -2);
  }
  for (size_t k = 0; k < objects.size(); ++k) {  // the box that overlaps an object most shows it in any case
    size_t best = 0;
    for (size_t i = 1; i < boxes.size(); ++i)
      if (overlap_of_boxes(boxes[i], objects[k]) > overlap_of_boxes(boxes[best], objects[k])) best = i;
    out[best] = int(k);
  }
  return out;
}

// As many of the boxes that `wanted` names as there are, at most `count`: those of the highest draws.
std::vector<size_t> drawn(const std::vector<int>& shows, bool objects, size_t count, const std::string& stream) {
  Stream bits(5, stream);
  std::vector<std::pair<double, size_t>> draws;
  for (size_t i = 0; i < shows.size(); ++i) {
    const double draw = bits.bits() >> 8;
    if (objects ? shows[i] >= 0 : shows[i] == -1) draws.emplace_back(draw, i);
  }
  std::ranges::stable_sort(draws, std::greater(), &std::pair<double, size_t>::first);
  std::vector<size_t> out;
  for (size_t k = 0; k < std::min(count, draws.size()); ++k) out.push_back(draws[k].second);
  std::ranges::sort(out);
  return out;
}

}  // namespace

TEST_CASE("in training, regions and anchors are drawn by the seed from those that show an object and the background") {
  const size_t learning = GENERATE(24, 2);  // anchors: more than show an object twice over, or fewer
  // Two objects, one as wide as an anchor, and an empty row.
  const std::vector<Object> objects = {{0, 0.1, 0.1, 0.3, 0.45}, {1, 0.35, 0.2, 0.9, 0.9}};
  std::vector<float> rows;
  for (const Object& o : objects)
    for (const double number : {double(o.label), o.x1, o.y1, o.x2, o.y2, 0.0}) rows.push_back(float(number));
  rows.insert(rows.end(), {-1, 0, 0, 0, 0, 0});
  Net net(std::string(kMaps) + text(", regions: 8, foreground: 0.4, object_overlap: 0.45, anchors: ", learning,
                                    ", anchor_overlap: [0.4, 0.2], anchor_cost: 3}]"),
          true, 2, rows);
  REQUIRE(net.context->penalties.size() == 1);
  net.graph.output("cost", net.context->penalties[0]);
  run_with_maps(net);
  std::vector<Object> exact;  // as f32 has them
  for (size_t k = 0; k < objects.size(); ++k)
    exact.push_back({objects[k].label, rows[6 * k + 1], rows[6 * k + 2], rows[6 * k + 3], rows[6 * k + 4]});

  const std::vector<Anchor> anchors = anchors_of(*net.program);
  std::vector<Region> regions = proposed(anchors, 40, 9);
  const size_t found = regions.size();
  for (const Object& o : exact) regions.push_back({0, o.x1 * 80, o.y1 * 48, o.x2 * 80 - 1, o.y2 * 48 - 1});
  std::vector<Object> boxes;
  for (const Region& r : regions) boxes.push_back({0, r.x1 / 80, r.y1 / 48, (r.x2 + 1) / 80, (r.y2 + 1) / 48});
  std::vector<int> shows = shown(boxes, exact, 0.45, 0.45);
  // Places without a proposal take draws, too.
  shows.insert(shows.begin() + std::ptrdiff_t(found), 9 - found, -2), shows.push_back(-2);
  regions.insert(regions.begin() + std::ptrdiff_t(found), 9 - found, Region{});
  std::vector<Region> expected;
  const std::vector<size_t> with_object = drawn(shows, true, 3, "p/regions/objects");
  CHECK(std::ranges::count_if(shows, [](int k) { return k >= 0; }) >= 2);
  for (const size_t i : with_object) expected.push_back(regions[i]);
  for (const size_t i : drawn(shows, false, 8 - with_object.size(), "p/regions/background"))
    expected.push_back(regions[i]);
  check_regions(net.program->output("y"), expected, 8);

  std::vector<Object> places;
  for (const Anchor& a : anchors)
    places.push_back(
        {0, (a.x - a.width / 2) / 80, (a.y - a.height / 2) / 48, (a.x + a.width / 2) / 80, (a.y + a.height / 2) / 48});
  const std::vector<int> learn = shown(places, exact, 0.4, 0.2);
  const std::vector<size_t> some = drawn(learn, true, learning / 2, "p/anchors/objects");
  const std::vector<size_t> others = drawn(learn, false, learning - some.size(), "p/anchors/background");
  CHECK((learning == 24 ? some.size() >= 2 && others.size() > 12 : some.size() == 1));
  double cost = 0;
  for (const size_t i : others) cost += std::log1p(std::exp(anchors[i].region.score));
  for (const size_t i : some) {
    const Anchor& a = anchors[i];
    const Object& o = exact[size_t(learn[i])];
    cost += std::log1p(std::exp(-a.region.score));
    const double width = (o.x2 - o.x1) * 80, height = (o.y2 - o.y1) * 48;
    const double wanted[] = {((o.x1 + o.x2) * 40 - a.x) / a.width, ((o.y1 + o.y2) * 24 - a.y) / a.height,
                             std::log(width / a.width), std::log(height / a.height)};
    for (size_t k = 0; k < 4; ++k) {  // smooth L1 of sigma 3
      const double miss = std::abs(a.offsets[k] - wanted[k]);
      cost += miss < 1.0 / 9 ? 4.5 * miss * miss : miss - 0.5 / 9;
    }
  }
  check_close(net.program->output("cost").at(0), 3 * cost / double(some.size() + others.size()), 1e-10);
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
  CHECK_THAT(complaint_about("[Proposals: {anchor_overlap: [0.3, 0.7]}]"), says("anchor_overlap: two numbers"));
  CHECK_THAT(complaint_about("[RegionBoxes]"), says("RegionBoxes takes two inputs"));
  CHECK_THAT(complaint_about("[RegionBoxes: {inputs: [data, data]}]"),
             says("takes feature maps (C, R, P, Q) of R regions and their corners (R, 4), got (3, 48, 80)"));
  CHECK_THAT(complaint_about("[Proposals: {most: [1, 2, 3]}]"), says("most: (1, 2, 3) should be one number, or two"));
}
