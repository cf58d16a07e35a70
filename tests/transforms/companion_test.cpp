// What accompanies images, as targets do, against the images themselves, and labels of pixels against plain loops.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "neon/core/random.h"
#include "tests/support/golden.h"
#include "transforms/augmentation.h"

using namespace neon;
using namespace neon_test;

namespace {

constexpr uint64_t kMovedSeed = 5, kMovedEpoch = 1;
constexpr int64_t kMovedImages = 6, kMovedBatch = 4, kMovedHeight = 9, kMovedWidth = 7;
const std::vector<int32_t> kMovedIndices = {5, 0, 2, 2};

double byte(int64_t n, int64_t y, int64_t x, int64_t c) { return double((n * 41 + y * 23 + x * 13 + c * 60) % 256); }

// Values and companion of a batch, both (N,H,W,c).
struct Moved {
  Tensor values, companion;
};

// The companion has the images' own numbers, or as labels of pixels the places in the image, y * kMovedWidth + x.
Moved moved(const std::string& list, bool training, bool labels, const Arithmetic& arithmetic,
            uint64_t seed = kMovedSeed) {
  Graph graph;
  const Shape shape{kMovedImages, kMovedHeight, kMovedWidth, 3}, of_labels{kMovedImages, kMovedHeight, kMovedWidth, 1};
  Tensor data(DType::u8, shape), same(arithmetic.dtype, shape), places(DType::i32, of_labels);
  for (int64_t i = 0; i < data.elements(); ++i) {
    const int64_t pixel = i / 3, x = pixel % kMovedWidth, y = pixel / kMovedWidth % kMovedHeight;
    data.set(i, byte(pixel / (kMovedWidth * kMovedHeight), y, x, i % 3));
    same.set(i, data.at(i));
    places.set(pixel, double(y * kMovedWidth + x));
  }
  Tensor indices(DType::i32, {kMovedBatch}), samples(DType::i32, {kMovedBatch, 2});
  for (int64_t i = 0; i < kMovedBatch; ++i) {
    indices.set(i, kMovedIndices[size_t(i)]);
    samples.set(2 * i, kMovedIndices[size_t(i)]);
    samples.set(2 * i + 1, double(kMovedEpoch));
  }
  const Value which = graph.input("indices", DType::i32, {kMovedBatch});
  ImageBatch batch(graph, graph.input("data", DType::u8, shape), which, {}, arithmetic.dtype, training, seed);
  if (labels) batch.accompany(graph.input("other", DType::i32, of_labels), which, Sampling::nearest);
  else batch.accompany(graph.input("other", arithmetic.dtype, shape), which, Sampling::linear);
  for (const Setting& item : yaml_of(list).items) Registry<Augmentation>::get().create(item)->apply(batch);
  graph.output("t", batch.companion());
  graph.output("y", batch.values());
  Variables variables;
  const auto program = compiled(graph, variables, arithmetic);
  program->bind("data", data.data());
  program->bind("other", labels ? places.data() : same.data());
  program->bind("indices", indices.data());
  program->bind("samples", samples.data());
  program->run(1);
  return {program->output("y").clone(), program->output("t").clone()};
}

float drawn_for(int64_t n, int64_t k, uint64_t seed = kMovedSeed) {
  Stream stream(seed, "augment/0", kMovedEpoch);
  uint32_t bits = 0;
  for (int64_t skip = 0; skip <= 16 * n + k; ++skip) bits = stream.bits();
  return uniform_from_bits(bits);
}

}  // namespace

TEST_CASE("whatever moves pixels moves those of a companion alike", "[device]") {
  for (const char* list :
       {"[Flip]", "[CenterCrop: 4]", "[RandomCrop: {size: 4}]", "[RandomCrop: {pad: 3}, Flip]",
        "[Flip, RandomCrop: {pad: 2, border: edge}]", "[RandomCrop: {size: 20, pad: 8, border: reflect}]",
        "[RandomScale]", "[RandomScale: {size: 3}, Flip]", "[RandomScale: {size: 2, area: [0.9, 1]}]",
        "[Flip, RandomScale: {size: 6}, RandomCrop: {size: 5}, Flip]", "[Rotation: 90]",
        "[Shear: {across: 0.4, down: 0.3}, Flip, Rotation]", "[RandomCrop: {size: [4, 6]}, Flip]",
        "[RandomScale: {size: [8, 3]}, RandomCrop: {size: [5, 2]}]", "[RandomCrop: {size: 5}, CutMix]", "[Mixup, Flip]",
        "[CutMix, Rotation, Flip, RandomScale: {size: 6}]",
        "[RandomErasing: {probability: 0.6, target: true}, Shear: 0.3, CutMix]"})
    for (const bool training : {true, false})
      for (const Arithmetic& arithmetic : arithmetics()) {
        INFO(list << ", training " << training << ", " << arithmetic.name);
        const auto [values, companion] = moved(list, training, false, arithmetic);
        REQUIRE(values.shape() == companion.shape());
        // Places are drawn in f32, and bytes are sampled in the type of the places; those that turn are sums of four.
        const double rounding = std::max(unit_roundoff(arithmetic.dtype), unit_roundoff(DType::f32));
        for (int64_t i = 0; i < values.elements(); ++i)
          REQUIRE(std::abs(values.at(i) - companion.at(i)) <= 256 * 32 * rounding);
      }
}

TEST_CASE("colours and covers leave a companion as it is, unless it is to be covered", "[device]") {
  for (const Arithmetic& arithmetic : arithmetics()) {
    INFO(arithmetic.name);
    const Tensor colours =
        moved("[Brightness, Contrast, Saturation, ColorNoise, Cutout: {size: 3}]", true, false, arithmetic).companion;
    for (int64_t i = 0; i < kMovedBatch; ++i)
      for (int64_t k = 0; k < kMovedHeight * kMovedWidth * 3; ++k)
        REQUIRE(colours.at(i * kMovedHeight * kMovedWidth * 3 + k) ==
                byte(kMovedIndices[size_t(i)], k / (3 * kMovedWidth), k / 3 % kMovedWidth, k % 3));
    for (const bool labels : {false, true}) {
      const auto [values, covered] = moved("[Cutout: {size: 3, target: true}]", true, labels, arithmetic);
      const int64_t channels = covered.shape()[3];
      for (int64_t pixel = 0; pixel < kMovedBatch * kMovedHeight * kMovedWidth; ++pixel) {
        const int64_t n = pixel / (kMovedHeight * kMovedWidth), y = pixel / kMovedWidth % kMovedHeight,
                      x = pixel % kMovedWidth;
        const auto top = int64_t(drawn_for(kMovedIndices[size_t(n)], 0) * kMovedHeight) - 1,
                   left = int64_t(drawn_for(kMovedIndices[size_t(n)], 1) * kMovedWidth) - 1;
        const bool inside = y >= top && y < top + 3 && x >= left && x < left + 3;
        const double own = labels ? double(y * kMovedWidth + x) : byte(kMovedIndices[size_t(n)], y, x, 0);
        REQUIRE(covered.at(pixel * channels) == (inside ? 0 : own));
        REQUIRE(channels == (labels ? 1 : 3));
      }
    }
  }
}

TEST_CASE("a box that is erased from images is erased from their companion where that is asked for", "[device]") {
  constexpr int64_t kPixels = kMovedHeight * kMovedWidth;
  for (const Arithmetic& arithmetic : arithmetics()) {
    INFO(arithmetic.name);
    const auto [images, covered] = moved("[RandomErasing: {probability: 1, target: true}]", true, true, arithmetic);
    const Tensor kept = moved("[RandomErasing: 1]", true, true, arithmetic).companion;
    int64_t erased = 0;
    for (int64_t pixel = 0; pixel < kMovedBatch * kPixels; ++pixel) {
      const int64_t n = kMovedIndices[size_t(pixel / kPixels)], y = pixel / kMovedWidth % kMovedHeight,
                    x = pixel % kMovedWidth;
      const bool inside = images.at(3 * pixel) != byte(n, y, x, 0) || images.at(3 * pixel + 1) != byte(n, y, x, 1);
      erased += inside;
      REQUIRE(covered.at(pixel) == (inside ? 0 : double(pixel % kPixels)));
      REQUIRE(kept.at(pixel) == double(pixel % kPixels));
    }
    CHECK(erased > kMovedBatch);
  }
}

TEST_CASE("RandAugment's slants, shifts and turns move a companion, its colours do not", "[device]") {
  constexpr int64_t kNumbers = kMovedHeight * kMovedWidth * 3;
  constexpr int kFirstColour = 6;  // of the twelve ways; those before it move pixels, or change nothing
  std::set<int> met;
  for (uint64_t seed = 0; seed < 16; ++seed)
    for (const Arithmetic& arithmetic : arithmetics()) {
      INFO("seed " << seed << ", " << arithmetic.name);
      const auto [values, companion] = moved("[RandAugment: {count: 1, magnitude: 30}]", true, false, arithmetic, seed);
      for (int64_t i = 0; i < kMovedBatch; ++i) {
        const int64_t n = kMovedIndices[size_t(i)];
        const int way = int(drawn_for(n, 0, seed) * 12);
        met.insert(way);
        bool moves = false;
        for (int64_t k = 0; k < kNumbers; ++k) {
          const double own = byte(n, k / (3 * kMovedWidth), k / 3 % kMovedWidth, k % 3),
                       at = companion.at(i * kNumbers + k);
          moves = moves || std::abs(at - own) > 1;
          REQUIRE(std::abs(at - (way < kFirstColour ? values.at(i * kNumbers + k) : own)) <= 0.01);
        }
        REQUIRE(moves == (way > 0 && way < kFirstColour));
      }
    }
  CHECK(met.size() == 12);
}

TEST_CASE("labels of pixels are those of the pixels that places lie in", "[device]") {
  for (const Arithmetic& arithmetic : arithmetics()) {
    INFO(arithmetic.name);
    const Tensor labels = moved("[RandomScale: {size: 5}, Flip]", true, true, arithmetic).companion;
    CHECK(labels.dtype() == DType::i32);
    for (int64_t i = 0; i < labels.elements(); ++i) {
      const int64_t n = kMovedIndices[size_t(i / 25)], y = i / 5 % 5, x = i % 5;
      const double share = 0.08 + drawn_for(n, 0) * 0.92, aspect = 0.75 * std::pow(16 / 9.0, drawn_for(n, 1));
      const double tall = std::min(std::sqrt(share * kMovedHeight * kMovedWidth / aspect), double(kMovedHeight));
      const double wide = std::min(std::sqrt(share * kMovedHeight * kMovedWidth * aspect), double(kMovedWidth));
      const bool swapped = drawn_for(n, 4) < 0.5f;
      const double row = drawn_for(n, 2) * (kMovedHeight - tall) + (double(y) + 0.5) * tall / 5;
      const double column = drawn_for(n, 3) * (kMovedWidth - wide) + (double(swapped ? 4 - x : x) + 0.5) * wide / 5;
      const auto label = int64_t(labels.at(i));
      // A place on the border of two pixels, but for rounding, may be either's.
      REQUIRE(std::abs(double(label / kMovedWidth) + 0.5 - row) <= 0.5 + 1e-4);
      REQUIRE(std::abs(double(label % kMovedWidth) + 0.5 - column) <= 0.5 + 1e-4);
    }
  }
}

TEST_CASE("labels of pixels are turned whole, cut out of other images, and not mixed", "[device]") {
  for (const Arithmetic& arithmetic : arithmetics()) {
    INFO(arithmetic.name);
    const Tensor turned = moved("[Rotation: 45]", true, true, arithmetic).companion;
    REQUIRE(turned.shape() == Shape{kMovedBatch, kMovedHeight, kMovedWidth, 1});
    for (int64_t i = 0; i < turned.elements(); ++i) {
      const int64_t n = kMovedIndices[size_t(i / (kMovedHeight * kMovedWidth))];
      const double angle = (2 * double(drawn_for(n, 0)) - 1) * M_PI / 4, middle_row = double(kMovedHeight - 1) / 2,
                   middle_column = double(kMovedWidth - 1) / 2;
      const double v = double(i / kMovedWidth % kMovedHeight) - middle_row, u = double(i % kMovedWidth) - middle_column;
      const double row =
          std::clamp(middle_row + std::cos(angle) * v + std::sin(angle) * u, 0.0, double(kMovedHeight - 1));
      const double column =
          std::clamp(middle_column - std::sin(angle) * v + std::cos(angle) * u, 0.0, double(kMovedWidth - 1));
      const auto label = int64_t(turned.at(i));
      REQUIRE(std::abs(double(label / kMovedWidth) - row) <= 0.5 + 1e-4);
      REQUIRE(std::abs(double(label % kMovedWidth) - column) <= 0.5 + 1e-4);
    }
  }
  CHECK_THROWS_WITH(moved("[Mixup]", true, true, arithmetics()[0]),
                    "Mixup: a mean of two labels of a pixel is no label; CutMix takes whole pixels");
  CHECK(moved("[CutMix]", true, true, arithmetics()[0]).companion.dtype() == DType::i32);
}

TEST_CASE("views are for outputs that share them, not for images") {
  CHECK_THROWS_WITH(moved("[Flip: {average: true}]", false, false, arithmetics()[0]),
                    Catch::Contains("`average` is for outputs that all views of an image share"));
}
