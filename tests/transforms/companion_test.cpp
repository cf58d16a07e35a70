// What accompanies images, as targets do, against the images themselves, and labels of pixels against plain loops.
#include <catch2/catch.hpp>
#include <cmath>

#include "neon/core/random.h"
#include "tests/support/golden.h"
#include "transforms/augmentation.h"

using namespace neon;
using namespace neon_test;

namespace {

constexpr uint64_t kSeed = 5, kEpoch = 1;
constexpr int64_t kImages = 6, kBatch = 4, kHeight = 9, kWidth = 7;
const std::vector<int32_t> kIndices = {5, 0, 2, 2};

double byte(int64_t n, int64_t y, int64_t x, int64_t c) { return double((n * 41 + y * 23 + x * 13 + c * 60) % 256); }

// Values and companion of a batch, both (N,H,W,c).
struct Moved {
  Tensor values, companion;
};

// The companion has the images' own numbers, or as labels of pixels the places in the image, y * kWidth + x.
Moved moved(const std::string& list, bool training, bool labels, const Arithmetic& arithmetic) {
  Graph graph;
  const Shape shape{kImages, kHeight, kWidth, 3}, of_labels{kImages, kHeight, kWidth, 1};
  Tensor data(DType::u8, shape), same(arithmetic.dtype, shape), places(DType::i32, of_labels);
  for (int64_t i = 0; i < data.elements(); ++i) {
    const int64_t pixel = i / 3, x = pixel % kWidth, y = pixel / kWidth % kHeight;
    data.set(i, byte(pixel / (kWidth * kHeight), y, x, i % 3));
    same.set(i, data.at(i));
    places.set(pixel, double(y * kWidth + x));
  }
  Tensor indices(DType::i32, {kBatch}), samples(DType::i32, {kBatch, 2});
  for (int64_t i = 0; i < kBatch; ++i) {
    indices.set(i, kIndices[size_t(i)]);
    samples.set(2 * i, kIndices[size_t(i)]);
    samples.set(2 * i + 1, double(kEpoch));
  }
  const Value which = graph.input("indices", DType::i32, {kBatch});
  ImageBatch batch(graph, graph.input("data", DType::u8, shape), which, {}, arithmetic.dtype, training, kSeed);
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

float drawn(int64_t n, int64_t k) {
  Stream stream(kSeed, "augment/0", kEpoch);
  uint32_t bits = 0;
  for (int64_t skip = 0; skip <= 16 * n + k; ++skip) bits = stream.bits();
  return uniform_from_bits(bits);
}

}  // namespace

TEST_CASE("whatever moves pixels moves those of a companion alike", "[device]") {
  for (const char* list :
       {"[Flip]", "[RandomCrop: {size: 4}]", "[RandomCrop: {pad: 3}, Flip]",
        "[Flip, RandomCrop: {pad: 2, border: edge}]", "[RandomCrop: {size: 20, pad: 8, border: reflect}]",
        "[RandomScale]", "[RandomScale: {size: 3}, Flip]", "[RandomScale: {size: 2, area: [0.9, 1]}]",
        "[Flip, RandomScale: {size: 6}, RandomCrop: {size: 5}, Flip]"})
    for (const bool training : {true, false})
      for (const Arithmetic& arithmetic : arithmetics()) {
        INFO(list << ", training " << training << ", " << arithmetic.name);
        const auto [values, companion] = moved(list, training, false, arithmetic);
        REQUIRE(values.shape() == companion.shape());
        // The bytes are sampled in the arithmetic, and so are the same numbers that accompany them.
        for (int64_t i = 0; i < values.elements(); ++i)
          REQUIRE(std::abs(values.at(i) - companion.at(i)) <= 256 * 8 * unit_roundoff(arithmetic.dtype));
      }
}

TEST_CASE("colours and covers leave a companion as it is, unless it is to be covered", "[device]") {
  for (const Arithmetic& arithmetic : arithmetics()) {
    INFO(arithmetic.name);
    const Tensor colours =
        moved("[Brightness, Contrast, Saturation, ColorNoise, Cutout: {size: 3}]", true, false, arithmetic).companion;
    for (int64_t i = 0; i < kBatch; ++i)
      for (int64_t k = 0; k < kHeight * kWidth * 3; ++k)
        REQUIRE(colours.at(i * kHeight * kWidth * 3 + k) ==
                byte(kIndices[size_t(i)], k / (3 * kWidth), k / 3 % kWidth, k % 3));
    for (const bool labels : {false, true}) {
      const auto [values, covered] = moved("[Cutout: {size: 3, target: true}]", true, labels, arithmetic);
      const int64_t channels = covered.shape()[3];
      for (int64_t pixel = 0; pixel < kBatch * kHeight * kWidth; ++pixel) {
        const int64_t n = pixel / (kHeight * kWidth), y = pixel / kWidth % kHeight, x = pixel % kWidth;
        const auto top = int64_t(drawn(kIndices[size_t(n)], 0) * kHeight) - 1,
                   left = int64_t(drawn(kIndices[size_t(n)], 1) * kWidth) - 1;
        const bool inside = y >= top && y < top + 3 && x >= left && x < left + 3;
        const double own = labels ? double(y * kWidth + x) : byte(kIndices[size_t(n)], y, x, 0);
        REQUIRE(covered.at(pixel * channels) == (inside ? 0 : own));
      }
    }
  }
}

TEST_CASE("labels of pixels are those of the pixels that places lie in", "[device]") {
  for (const Arithmetic& arithmetic : arithmetics()) {
    INFO(arithmetic.name);
    const Tensor labels = moved("[RandomScale: {size: 5}, Flip]", true, true, arithmetic).companion;
    CHECK(labels.dtype() == DType::i32);
    for (int64_t i = 0; i < labels.elements(); ++i) {
      const int64_t n = kIndices[size_t(i / 25)], y = i / 5 % 5, x = i % 5;
      const double share = 0.08 + drawn(n, 0) * 0.92, aspect = 0.75 * std::pow(16 / 9.0, drawn(n, 1));
      const double tall = std::min(std::sqrt(share * kHeight * kWidth / aspect), double(kHeight));
      const double wide = std::min(std::sqrt(share * kHeight * kWidth * aspect), double(kWidth));
      const bool swapped = drawn(n, 4) < 0.5f;
      const double row = drawn(n, 2) * (kHeight - tall) + (double(y) + 0.5) * tall / 5;
      const double column = drawn(n, 3) * (kWidth - wide) + (double(swapped ? 4 - x : x) + 0.5) * wide / 5;
      const auto label = int64_t(labels.at(i));
      // A place on the border of two pixels, but for rounding, may be either's.
      REQUIRE(std::abs(double(label / kWidth) + 0.5 - row) <= 0.5 + 1e-4);
      REQUIRE(std::abs(double(label % kWidth) + 0.5 - column) <= 0.5 + 1e-4);
    }
  }
}

TEST_CASE("views are for outputs that share them, not for images") {
  CHECK_THROWS_WITH(moved("[Flip: {average: true}]", false, false, arithmetics()[0]),
                    Catch::Contains("`average` is for outputs that all views of an image share"));
}
