// Samples that are targets beside others (Dataset::Common::reconstruct): augmentations move and mix them.
#include <catch2/catch.hpp>

#include "models/batch.h"
#include "tests/support/golden.h"
#include "tests/support/net.h"

using namespace neon;
using namespace neon_test;

namespace {

constexpr int64_t kOwnImages = 6, kTaken = 4, kOwnHeight = 6, kOwnWidth = 5;
const std::vector<int32_t> kTakenIndices = {5, 0, 2, 2};

double own_pixel(int64_t n, int64_t y, int64_t x, int64_t c) {
  return double((n * 37 + y * 19 + x * 7 + c * 90 + x * y * n) % 256);
}

Tensor own_images(bool channels_last) {
  Tensor out(DType::u8,
             channels_last ? Shape{kOwnImages, kOwnHeight, kOwnWidth, 3} : Shape{kOwnImages, 3, kOwnHeight, kOwnWidth});
  for (int64_t n = 0; n < kOwnImages; ++n)
    for (int64_t y = 0; y < kOwnHeight; ++y)
      for (int64_t x = 0; x < kOwnWidth; ++x)
        for (int64_t c = 0; c < 3; ++c)
          out.set(channels_last ? ((n * kOwnHeight + y) * kOwnWidth + x) * 3 + c
                                : ((n * 3 + c) * kOwnHeight + y) * kOwnWidth + x,
                  own_pixel(n, y, x, c));
  return out;
}

DataLayout own_layout(bool channels_last) {
  DataLayout out;
  out.dtype = DType::u8;
  out.sample = {3, kOwnHeight, kOwnWidth};
  out.channels_last = channels_last;
  out.train_size = kOwnImages;
  out.scale = 1 / 256.0f;
  return out;
}

}  // namespace

TEST_CASE("a sample that is a target of its own moves, and is mixed, with its pixels") {
  const std::string list =
      GENERATE("[Flip, RandomCrop: {pad: 2}]", "[RandomCrop: {pad: 1, border: edge}, Rotation: 40]", "[CutMix, Flip]",
               "[Mixup]", "[Shear: 0.4, CutMix, Mixup]");
  const bool channels_last = GENERATE(true, false);
  std::vector<std::unique_ptr<Augmentation>> made;
  StepOptions options{.dtype = DType::f64, .batch = kTaken};
  for (const Setting& item : yaml_of(list).items) {
    made.push_back(Registry<Augmentation>::get().create(item));
    options.augment.push_back(made.back().get());
  }
  options.outputs = {{.target = "sample"}, {.target = "class"}};
  constexpr int64_t kNumbers = 3 * kOwnHeight * kOwnWidth, kClasses = 4;
  DataLayout data = own_layout(channels_last);
  data.shift = 0.25f;
  data.targets = {{"class", TargetKind::classes, kClasses, {}, {}}, {"sample", TargetKind::number, kNumbers, {}, {}}};
  data.target = {1 + kNumbers};
  Graph graph;
  const Batch batch = batch_of(graph, data, kOwnImages, options, true);
  graph.output("x", batch.x), graph.output("t", batch.t);
  Variables variables;
  const auto program = compile_for_cpu(graph, variables, {});
  const Tensor pixels = own_images(channels_last);
  Tensor targets(DType::f32, {kOwnImages, 1 + kNumbers}), samples(DType::i32, {kTaken, 2});
  for (int64_t n = 0; n < kOwnImages; ++n) {
    targets.set(n * (1 + kNumbers), double(n % kClasses));
    for (int64_t k = 0; k < kNumbers; ++k)
      targets.set(n * (1 + kNumbers) + 1 + k,
                  own_pixel(n, k / kOwnWidth % kOwnHeight, k % kOwnWidth, k / (kOwnHeight * kOwnWidth)) / 256 + 0.25);
  }
  for (int64_t i = 0; i < kTaken; ++i) samples.set(2 * i, kTakenIndices[size_t(i)]), samples.set(2 * i + 1, 1);
  program->bind("data", pixels.data()), program->bind("targets", targets.data());
  program->bind("indices", kTakenIndices.data()), program->bind("samples", samples.data());
  program->run(0);
  const Tensor x = program->output("x"), t = program->output("t");
  REQUIRE(x.shape() == Shape{kTaken, kOwnHeight, kOwnWidth, 3});
  REQUIRE(t.shape() == Shape{kTaken, kNumbers + kClasses});
  for (int64_t i = 0; i < kTaken; ++i) {
    double classes = 0;
    for (int64_t k = 0; k < kClasses; ++k) classes += t.at(i * (kNumbers + kClasses) + kNumbers + k);
    CHECK(classes == Approx(1));
    for (int64_t k = 0; k < kNumbers; ++k) {
      const int64_t place = k % (kOwnHeight * kOwnWidth), c = k / (kOwnHeight * kOwnWidth);
      REQUIRE(t.at(i * (kNumbers + kClasses) + k) ==
              Approx(x.at((i * kOwnHeight * kOwnWidth + place) * 3 + c)).margin(1e-6));
    }
  }
}

TEST_CASE("a sample that is a target of its own has the numbers of the set, so that another size is refused") {
  const auto crop = Registry<Augmentation>::get().create(yaml_of("RandomCrop: {size: 4}"));
  StepOptions options{.batch = kTaken};
  options.augment = {crop.get()};
  options.outputs = {{.target = "sample"}};
  DataLayout data = own_layout(true);
  data.targets = {{"sample", TargetKind::number, 3 * kOwnHeight * kOwnWidth, {}, {}}};
  data.target = {3 * kOwnHeight * kOwnWidth};
  Graph graph;
  CHECK_THROWS_WITH(batch_of(graph, data, kOwnImages, options, true),
                    Catch::Contains("augment: makes samples (3, 4, 4) of (3, 6, 5), and the target `sample`"));
}
