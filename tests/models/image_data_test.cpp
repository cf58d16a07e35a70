// Images of a data set on their way into the net: the order of their axes, normalisation, augmentation.
#include <catch2/catch.hpp>
#include <cmath>

#include "backends/graph/ops.h"
#include "models/batch.h"
#include "tests/support/golden.h"
#include "tests/support/net.h"

using namespace neon;
using namespace neon_test;

namespace {

constexpr int64_t kImages = 6, kAtOnce = 4, kHeight = 6, kWidth = 5;
const std::vector<int32_t> kIndices = {5, 0, 2, 2};

double pixel(int64_t n, int64_t y, int64_t x, int64_t c) {
  return double((n * 37 + y * 19 + x * 7 + c * 90 + x * y * n) % 256);
}

Tensor images(bool channels_last) {
  Tensor out(DType::u8, channels_last ? Shape{kImages, kHeight, kWidth, 3} : Shape{kImages, 3, kHeight, kWidth});
  for (int64_t n = 0; n < kImages; ++n)
    for (int64_t y = 0; y < kHeight; ++y)
      for (int64_t x = 0; x < kWidth; ++x)
        for (int64_t c = 0; c < 3; ++c)
          out.set(channels_last ? ((n * kHeight + y) * kWidth + x) * 3 + c : ((n * 3 + c) * kHeight + y) * kWidth + x,
                  pixel(n, y, x, c));
  return out;
}

DataLayout layout(bool channels_last) {
  DataLayout out;
  out.dtype = DType::u8;
  out.sample = {3, kHeight, kWidth};
  out.channels_last = channels_last;
  out.train_size = kImages;
  out.scale = 1 / 256.0f;
  out.target_is_input = true;
  return out;
}

struct Evaluated {
  Tensor y;
  int transposes = 0;
};

Evaluated evaluate(const std::string& layers, const DataLayout& data, const StepOptions& options,
                   const ProgramOptions& cpu, const Tensor& pixels) {
  const Network network = network_of(yaml_of(layers));
  const StepGraph graph = evaluation_graph(network, nullptr, {}, data, kImages, options);
  Variables variables;
  const auto program = compile_for_cpu(graph.graph, variables, cpu);
  for (const Parameter& p : graph.parameters) {
    Tensor& w = variables.at(p.name);
    for (int64_t i = 0; i < w.elements(); ++i) w.set(i, std::sin(double(i) * 0.7) / 4);
  }
  program->bind("data", pixels.data());
  program->bind("indices", kIndices.data());
  program->run(0);
  Evaluated out{program->output("y").clone(), 0};
  for (const LoweredKernel& kernel : program->lowered().kernels) out.transposes += kernel.is(ops::transpose);
  return out;
}

Evaluated evaluate(const std::string& layers, const DataLayout& data, const StepOptions& options,
                   const ProgramOptions& cpu) {
  return evaluate(layers, data, options, cpu, images(data.channels_last));
}

// What lies at (top, left) of images (n,H,W,3), zeros outside, with right and left swapped or not.
Tensor cut_from(const Tensor& images, int64_t top, int64_t left, bool swapped, int64_t side) {
  Tensor out(images.dtype(), {images.shape()[0], side, side, 3});
  int64_t i = 0;
  for (int64_t n = 0; n < images.shape()[0]; ++n)
    for (int64_t y = 0; y < side; ++y)
      for (int64_t x = 0; x < side; ++x)
        for (int64_t c = 0; c < 3; ++c, ++i) {
          const int64_t row = top + y, column = left + (swapped ? side - 1 - x : x);
          const bool inside = row >= 0 && row < kHeight && column >= 0 && column < kWidth;
          out.set(i, inside ? images.at(((n * kHeight + row) * kWidth + column) * 3 + c) : 0);
        }
  return out;
}

}  // namespace

TEST_CASE(
    "a net of images gives the same whichever order of axes the data has, and turns none that has channels last") {
  const std::string layers =
      "[Conv: {fshape: [3, 3, 4], init: Kaiming, activation: Rectlin}, Pooling: {fshape: 2}, Affine: {nout: 2, init: "
      "Kaiming}]";
  for (const Arithmetic& arithmetic : arithmetics()) {
    const StepOptions options{.dtype = arithmetic.dtype, .batch = kAtOnce};
    const Evaluated first = evaluate(layers, layout(false), options, arithmetic.options);
    const Evaluated last = evaluate(layers, layout(true), options, arithmetic.options);
    REQUIRE(first.y.shape() == last.y.shape());
    for (int64_t i = 0; i < first.y.elements(); ++i) check_close(last.y.at(i), first.y.at(i), 1e-5);
    if (arithmetic.options.plain) continue;
    CHECK(first.transposes == 1);
    CHECK(last.transposes == 0);
  }
}

TEST_CASE("channels are normalised in either order of axes") {
  for (bool channels_last : {false, true})
    for (const Arithmetic& arithmetic : arithmetics()) {
      DataLayout data = layout(channels_last);
      data.means = {0.25, 0.5, 0.375};
      data.deviations = {0.5, 2, 0.25};
      const Tensor y =
          evaluate("[Activation: Identity]", data, {.dtype = arithmetic.dtype, .batch = kAtOnce}, arithmetic.options).y;
      for (int64_t i = 0; i < kAtOnce; ++i)
        for (int64_t c = 0; c < 3; ++c)
          for (int64_t row = 0; row < kHeight; ++row)
            for (int64_t x = 0; x < kWidth; ++x) {
              const int64_t at = ((i * 3 + c) * kHeight + row) * kWidth + x;
              const double seen = pixel(kIndices[size_t(i)], row, x, c) / 256;
              REQUIRE(y.at(at) == (seen - data.means[size_t(c)]) / data.deviations[size_t(c)]);  // exact: few bits
            }
    }
}

TEST_CASE("augmented images have their channels last in the net, whatever the data has, and first as outputs") {
  const auto crop = Registry<Augmentation>::get().create(yaml_of("RandomCrop: {size: 3, pad: 1}"));
  for (bool channels_last : {false, true})
    for (const Arithmetic& arithmetic : arithmetics()) {
      StepOptions options{.dtype = arithmetic.dtype, .batch = kAtOnce};
      options.augment = {crop.get()};
      CHECK(input_sample(layout(channels_last), options) == Shape{3, 3, 3});
      const Tensor y = evaluate("[Activation: Identity]", layout(channels_last), options, arithmetic.options).y;
      REQUIRE(y.shape() == Shape{kAtOnce, 27});
      for (int64_t i = 0; i < y.elements(); ++i) {
        const int64_t x = i % 3, row = i / 3 % 3, c = i / 9 % 3, n = kIndices[size_t(i / 27)];
        REQUIRE(y.at(i) == pixel(n, 1 + row, 1 + x, c) / 256);
      }
    }
}

TEST_CASE("targets are mixed as their images are, labels and numbers") {
  const auto mix = Registry<Augmentation>::get().create(yaml_of("Mixup: 0.5"));
  StepOptions options{.dtype = DType::f64, .batch = kAtOnce};
  options.augment = {mix.get()};
  for (const bool labels : {true, false}) {
    DataLayout data = layout(true);
    data.target_is_input = false;
    data.classes = labels ? 4 : 0;
    data.target_dtype = labels ? DType::i32 : DType::f32;
    data.target = {labels ? 1 : 2};
    Graph graph;
    const Batch batch = batch_of(graph, data, kImages, options, true);
    graph.output("x", batch.x), graph.output("t", batch.t);
    Variables variables;
    const auto program = compile_for_cpu(graph, variables, {});
    const Tensor pixels = images(true);
    Tensor targets(data.target_dtype, Shape{kImages}.concat(data.target)), samples(DType::i32, {kAtOnce, 2});
    for (int64_t i = 0; i < targets.elements(); ++i) targets.set(i, labels ? double(i % 4) : double(i * i));
    for (int64_t i = 0; i < kAtOnce; ++i) samples.set(2 * i, kIndices[size_t(i)]), samples.set(2 * i + 1, 1);
    program->bind("data", pixels.data()), program->bind("targets", targets.data());
    program->bind("indices", kIndices.data()), program->bind("samples", samples.data());
    program->run(0);
    const Tensor x = program->output("x"), t = program->output("t");
    const int64_t columns = labels ? 4 : 2;
    REQUIRE(t.shape() == Shape{kAtOnce, columns});
    for (int64_t i = 0; i < 2; ++i) {  // the other two are one image
      const int64_t own = kIndices[size_t(i)], other = kIndices[size_t(1 - i)];
      const double a = pixel(own, 0, 0, 0) / 256, b = pixel(other, 0, 0, 0) / 256;
      const double share = (x.at(i * kHeight * kWidth * 3) - b) / (a - b);
      CHECK((share > 0 && share < 1));
      for (int64_t k = 0; k < columns; ++k) {
        const auto target = [&](int64_t n) { return labels ? double(n % 4 == k) : double((2 * n + k) * (2 * n + k)); };
        CHECK(t.at(i * columns + k) == Approx(share * target(own) + (1 - share) * target(other)).margin(1e-4));
      }
    }
  }
}

TEST_CASE("an image that is its own target is compared in one order of axes") {
  const auto cost = Registry<Cost>::get().create(yaml_of("SumSquared"));
  for (bool channels_last : {false, true})
    for (const char* layers : {"[Activation: Identity]", "[Pooling: {fshape: 1}]"}) {
      const StepGraph graph = evaluation_graph(network_of(yaml_of(layers)), cost.get(), {}, layout(channels_last),
                                               kImages, {.batch = kAtOnce});
      Variables variables;
      const auto program = compile_for_cpu(graph.graph, variables, {.threads = 1});
      const Tensor pixels = images(channels_last);
      const std::vector<float> weight(size_t(kAtOnce), 1);
      program->bind("data", pixels.data());
      program->bind("indices", kIndices.data());
      program->bind("weight", weight.data());
      program->run(0);
      CHECK(program->output("cost").at(0) == 0);
    }
}

namespace {

// Of pixel (y,x), two maps of its three channels, for weights sin(0.7 i) / 4.
double map_at(int64_t n, int64_t y, int64_t x, int64_t k) {
  double sum = 0;
  for (int64_t c = 0; c < 3; ++c) sum += pixel(n, y, x, c) / 256 * std::sin(double(k * 3 + c) * 0.7) / 4;
  return sum;
}

double target_at(int64_t n, int64_t y, int64_t x, int64_t k) { return double((n + 3 * y + 5 * x + 7 * k) % 8) / 8; }

// The cost of two maps and targets of that shape, which are (2,H,W) in the file.
double cost_of_maps(const std::string& activation, const std::string& cost_name, bool channels_last,
                    const Shape& target, const StepOptions& options, const ProgramOptions& cpu) {
  const auto cost = Registry<Cost>::get().create(yaml_of(cost_name));
  DataLayout data = layout(channels_last);
  data.target_is_input = false;
  data.target = target;
  const Network network = network_of(yaml_of("[Conv: {fshape: [1, 1, 2], init: Kaiming" + activation + "}]"));
  const StepGraph graph = evaluation_graph(network, cost.get(), {}, data, kImages, options);
  CHECK(cost->objection(graph.outputs, 0) == "");
  Variables variables;
  const auto program = compile_for_cpu(graph.graph, variables, cpu);
  Tensor& w = variables.at("Conv_0/W");
  for (int64_t i = 0; i < w.elements(); ++i) w.set(i, std::sin(double(i) * 0.7) / 4);
  const Tensor pixels = images(channels_last);
  Tensor targets(DType::f32, Shape{kImages}.concat(target)), weight(options.dtype, {kAtOnce, 1});
  for (int64_t n = 0, i = 0; n < kImages; ++n)
    for (int64_t k = 0; k < 2; ++k)
      for (int64_t y = 0; y < kHeight; ++y)
        for (int64_t x = 0; x < kWidth; ++x, ++i) targets.set(i, target_at(n, y, x, k));
  for (int64_t i = 0; i < kAtOnce; ++i) weight.set(i, 1);
  program->bind("data", pixels.data());
  program->bind("targets", targets.data());
  program->bind("indices", kIndices.data());
  program->bind("weight", weight.data());
  program->run(0);
  return program->output("cost").at(0);
}

}  // namespace

TEST_CASE("outputs that are images are compared with targets as the file has them, channels first") {
  double squares = 0, entropy = 0, many = 0;
  for (const int32_t n : kIndices) {
    for (int64_t y = 0; y < kHeight; ++y)
      for (int64_t x = 0; x < kWidth; ++x) {
        double exponentials = 0, targets = 0;
        for (int64_t k = 0; k < 2; ++k) {
          const double z = map_at(n, y, x, k), t = target_at(n, y, x, k), p = 1 / (1 + std::exp(-z));
          squares += (z - t) * (z - t) / 2;
          entropy -= t * std::log(p) + (1 - t) * std::log(1 - p);
          exponentials += std::exp(z), targets += t, many -= t * z;
        }
        many += targets * std::log(exponentials);
      }
  }
  const std::tuple<const char*, const char*, double> cases[] = {
      {"", "SumSquared", squares},
      {", activation: Logistic", "CrossEntropyBinary", entropy},
      {", activation: {PixelwiseSoftmax: {c: 2}}", "CrossEntropyMulti", many}};
  for (const bool channels_last : {false, true})
    for (const Shape& target : {Shape{2, kHeight, kWidth}, Shape{2 * kHeight * kWidth}})
      for (const Arithmetic& arithmetic : arithmetics())
        for (const auto& [activation, cost, expected] : cases) {
          INFO(cost << (channels_last ? " channels last " : " channels first ") << target.to_string());
          const StepOptions options{.dtype = arithmetic.dtype, .batch = kAtOnce};
          check_close(cost_of_maps(activation, cost, channels_last, target, options, arithmetic.options), expected,
                      1e-6 * expected);
        }
}

TEST_CASE("augmenting what are no images is refused") {
  const auto flip = Registry<Augmentation>::get().create(yaml_of("Flip"));
  DataLayout rows = layout(false);
  rows.sample = {12};
  StepOptions options{.batch = kAtOnce};
  options.augment = {flip.get()};
  CHECK_THROWS_WITH(input_sample(rows, options),
                    "augment: is for images (C, H, W), the samples are (12); leave it out");
}

TEST_CASE("the middle, places around it and mirror images are evaluated together where augmentations say average") {
  // Of 6 rows and 5 columns the middle begins at (1, 0), or (1, 1).
  const int64_t size = GENERATE(4, 3), side = size == 4 ? 0 : 1;
  const auto crop =
      Registry<Augmentation>::get().create(yaml_of(text("RandomCrop: {size: ", size, ", pad: 1, average: 1}")));
  const auto flip = Registry<Augmentation>::get().create(yaml_of("Flip: {average: true}"));
  const std::string layers =
      "[Conv: {fshape: [3, 3, 4], init: Kaiming, activation: Tanh}, Affine: {nout: 3, init: Kaiming, activation: "
      "Softmax}]";
  const std::pair<int64_t, int64_t> places[] = {{1, side}, {0, side - 1}, {0, side + 1}, {2, side - 1}, {2, side + 1}};
  const Tensor pixels = images(true);
  for (const Arithmetic& arithmetic : arithmetics()) {
    StepOptions options{.dtype = arithmetic.dtype, .batch = kAtOnce};
    DataLayout whole = layout(true), squares = whole;
    squares.sample = {3, size, size};
    whole.target_is_input = false;
    std::vector<Tensor> views;
    for (const auto& [top, left] : places)
      for (const bool swapped : {false, true})
        views.push_back(
            evaluate(layers, squares, options, arithmetic.options, cut_from(pixels, top, left, swapped, size)).y);
    options.augment = {crop.get(), flip.get()};
    const Tensor together = evaluate(layers, whole, options, arithmetic.options, pixels).y;
    REQUIRE(together.shape() == views[0].shape());
    for (int64_t i = 0; i < together.elements(); ++i) {
      double sum = 0, least = 1, most = 0;
      for (const Tensor& view : views)
        sum += view.at(i), least = std::min(least, view.at(i)), most = std::max(most, view.at(i));
      check_close(together.at(i), sum / 10, std::min(1e-6, 1000 * unit_roundoff(arithmetic.dtype)));
      CHECK(most - least > 1e-3);  // or any of them would be their mean
    }
  }
}

TEST_CASE("the mean over views is refused where outputs are images, which a mirror image has mirrored") {
  const auto flip = Registry<Augmentation>::get().create(yaml_of("Flip: {average: true}"));
  StepOptions options{.batch = kAtOnce};
  options.augment = {flip.get()};
  const Network maps = network_of(yaml_of("[Conv: {fshape: [1, 1, 2], init: Kaiming}]"));
  const std::string objection =
      "augment: `average` is for outputs that all views of an image share, such as classes; here they are images, "
      "leave "
      "it out";
  CHECK_THROWS_WITH(evaluation_graph(maps, nullptr, {}, layout(true), kImages, options), objection);
  DataLayout classes = layout(true);
  classes.target_is_input = false;
  CHECK_THROWS_WITH(evaluation_graph(maps, nullptr, {}, classes, kImages, options), objection);
  const Network rows = network_of(yaml_of(text("[Affine: {nout: ", 3 * kHeight * kWidth, ", init: Kaiming}]")));
  CHECK_THROWS_WITH(evaluation_graph(rows, nullptr, {}, layout(true), kImages, options), objection);
  const auto cost = Registry<Cost>::get().create(yaml_of("SumSquared"));
  CHECK_THROWS_WITH(evaluation_graph(rows, cost.get(), {}, layout(true), kImages, options), objection);
  // One pixel of classes is no image.
  const Network pixel =
      network_of(yaml_of("[Conv: {fshape: [1, 1, 2], init: Kaiming}, Pooling: {fshape: all, op: avg}]"));
  CHECK(evaluation_graph(pixel, nullptr, {}, classes, kImages, options)
            .graph.shape(evaluation_graph(pixel, nullptr, {}, classes, kImages, options).graph.outputs().at("y")) ==
        Shape{kAtOnce, 2});
}

TEST_CASE("RandomCrop's average does not reach beyond what it crops") {
  const auto crop = Registry<Augmentation>::get().create(yaml_of("RandomCrop: {size: 4, pad: 1, average: 2}"));
  StepOptions options{.batch = kAtOnce};
  options.augment = {crop.get()};
  const Network network = network_of(yaml_of("[Affine: {nout: 2, init: Kaiming}]"));
  DataLayout high = layout(true);
  high.target_is_input = false;
  DataLayout wide = high;
  high.sample = {3, 6, 5}, wide.sample = {3, 5, 6};  // one pixel on two sides, besides the padded one on all
  for (const DataLayout& images : {high, wide})
    CHECK_THROWS_WITH(
        evaluation_graph(network, nullptr, {}, images, kImages, options),
        "augment: RandomCrop: average reaches 2 pixels from the middle, and crops at most 1; give that or less");
  const auto small = Registry<Augmentation>::get().create(yaml_of("RandomCrop: {size: 3, pad: 1, average: 2}"));
  options.augment = {small.get()};
  CHECK_NOTHROW(evaluation_graph(network, nullptr, {}, high, kImages, options));
}
