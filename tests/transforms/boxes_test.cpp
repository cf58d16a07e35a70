// Boxes that move with the pixels of their images, and the average precision of detections.
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/support/golden.h"
#include "tests/transforms/box_support.h"
#include "transforms/augmentation.h"
#include "transforms/metric.h"

using namespace neon;
using namespace neon_test;

namespace {

constexpr int64_t kShown = 8, kTall = 40, kWide = 64;

// Image n has one white block on black, whose corners are these pixels.
std::array<int64_t, 4> block(int64_t n) { return {8 + 5 * n, 6 + 2 * n, 20 + 5 * n, 14 + 3 * n}; }

struct Shown {
  Tensor images, boxes;
};

Shown shown(const std::string& list, bool training, const Arithmetic& arithmetic) {
  Graph graph;
  Tensor data(DType::u8, {kShown, kTall, kWide, 1}), boxes(DType::f32, {kShown, 2, 6});
  Tensor samples(DType::i32, {kShown, 2});
  for (int64_t i = 0; i < data.elements(); ++i) data.set(i, 0);
  for (int64_t n = 0; n < kShown; ++n) {
    const auto [left, top, right, bottom] = block(n);
    for (int64_t y = top; y < bottom; ++y)
      for (int64_t x = left; x < right; ++x) data.set((n * kTall + y) * kWide + x, 255);
    const double row[] = {
        double(n), double(left) / kWide, double(top) / kTall, double(right) / kWide, double(bottom) / kTall, 1};
    for (int64_t k = 0; k < 6; ++k) boxes.set(n * 12 + k, row[k]), boxes.set(n * 12 + 6 + k, k == 0 ? -1 : 0);
    samples.set(2 * n, double(n)), samples.set(2 * n + 1, 3);
  }
  ImageBatch batch(graph, graph.input("data", DType::u8, data.shape()), {}, {}, arithmetic.dtype, training, 4);
  batch.boxes = {graph, graph.input("boxes", DType::f32, boxes.shape())};
  for (const Setting& item : yaml_of(list).items) Registry<Augmentation>::get().create(item)->apply(batch);
  graph.output("y", batch.values());
  graph.output("t", batch.boxes);
  Variables variables;
  const auto program = compiled(graph, variables, arithmetic);
  program->bind("data", data.data()), program->bind("boxes", boxes.data());
  if (training) program->bind("samples", samples.data());
  program->run(1);
  return {program->output("y").clone(), program->output("t").clone()};
}

}  // namespace

TEST_CASE("boxes stay about what they are of, however pixels move", "[device]") {
  struct Move {
    const char* list;
    double off;  // pixels that a border may lie beside the outermost white ones
  };
  int64_t seen = 0, gone = 0;
  for (const Move& move :
       {Move{"[Flip: {probability: 1}]", 1e-4}, Move{"[RandomCrop: {size: 30}]", 1e-4},
        Move{"[RandomCrop: {pad: 9}, Flip]", 1e-4}, Move{"[Flip, RandomCrop: {size: 36, pad: 4}, Flip]", 1e-4},
        Move{"[RandomScale: {area: [0.5, 1]}]", 1.6},
        Move{"[RandomScale: {size: 36, area: [0.6, 1]}, Flip, RandomCrop: {size: 32}]", 1.6},
        Move{"[Shear: {across: 0.3, down: 0.2}, Flip]", 2}, Move{"[Rotation: 30, RandomCrop: {size: 38}]", 2}})
    for (const bool training : {true, false})
      for (const Arithmetic& arithmetic : arithmetics()) {
        if (compute_type(arithmetic.dtype) != arithmetic.dtype) continue;
        INFO(move.list << ", training " << training << ", " << arithmetic.name);
        const auto [images, boxes] = shown(move.list, training, arithmetic);
        const int64_t height = images.shape()[1], width = images.shape()[2];
        for (int64_t n = 0; n < kShown; ++n) {
          int64_t left = width, top = height, right = 0, bottom = 0;
          for (int64_t y = 0; y < height; ++y)
            for (int64_t x = 0; x < width; ++x)
              if (images.at((n * height + y) * width + x) > 0.4) {
                left = std::min(left, x), right = std::max(right, x + 1);
                top = std::min(top, y), bottom = std::max(bottom, y + 1);
              }
          INFO("image " << n);
          const auto number = [&](int64_t k) { return boxes.at(n * 12 + k); };
          CHECK(boxes.at(n * 12 + 6) == -1);
          if (number(0) < 0) {
            ++gone;
            continue;
          }
          ++seen;
          CHECK((number(0) == double(n) && number(5) == 1));
          CHECK(std::abs(number(1) * double(width) - double(left)) <= move.off);
          CHECK(std::abs(number(2) * double(height) - double(top)) <= move.off);
          CHECK(std::abs(number(3) * double(width) - double(right)) <= move.off);
          CHECK(std::abs(number(4) * double(height) - double(bottom)) <= move.off);
        }
      }
  CHECK(seen > 8 * gone);
  CHECK(gone > 0);
}

TEST_CASE("boxes have no mean over several views") {
  for (const char* list : {"[Flip: {average: true}]", "[RandomCrop: {size: 30, average: 2}]"})
    CHECK_THROWS_WITH(shown(list, false, arithmetics()[0]),
                      Catch::Contains("here they are boxes of objects, leave it out"));
}

namespace {

double precision(const char* spec, const std::vector<double>& found, const std::vector<double>& boxes, size_t samples) {
  const auto metric = Registry<Metric>::get().create(yaml_of(spec));
  return metric->finish({found, boxes, std::vector<double>(samples, 1)}, double(samples))[0];
}

}  // namespace

// Class 0 has three objects that count, in two images, and one difficult one. By falling score: right, wrong (the
// object is found already), difficult, right, wrong (too far off). So precision is 1 up to a recall of 1/3 and 2/3 up
// to 2/3.
TEST_CASE("average precision is the area under the best precisions, or their mean at eleven recalls") {
  const std::vector<double> boxes = {0, 0, 0, 0.4, 0.4, 0, 0, 0.5, 0.5, 0.9, 0.9, 0,   // image 0
                                     0, 0, 0, 0.4, 0.4, 1, 0, 0.6, 0.1, 0.8, 0.6, 0};  // image 1
  const std::vector<double> found = {0, 0.95, 0,    0,   0.4,  0.38, 0,  0.9, 0,    0.02, 0.4, 0.4,
                                     0, 0.2,  0.55, 0.1, 0.95, 0.5,  0,  0.8, 0.01, 0,    0.4, 0.4,
                                     0, 0.5,  0.6,  0.1, 0.8,  0.5,  -1, 0,   0,    0,    0,   0};
  CHECK(precision("MeanAveragePrecision", found, boxes, 2) == Approx(1.0 / 3 + 2.0 / 9).epsilon(1e-12));
  CHECK(precision("mAP: {points: 11}", found, boxes, 2) == Approx((4 * 1.0 + 3 * 2.0 / 3) / 11).epsilon(1e-12));
  CHECK(precision("mAP: {overlap: 0.94}", found, boxes, 2) == Approx(1.0 / 3).epsilon(1e-12));
  // A class without detections counts 0; one without objects does not count; a sample of weight 0 neither.
  std::vector<double> two = boxes;
  two[18] = 3;
  CHECK(precision("MeanAveragePrecision", found, two, 2) == Approx((0.5 + 0) / 2).epsilon(1e-12));
  std::vector<double> other = found;
  other[30] = 7, other[31] = 0.99;
  CHECK(precision("MeanAveragePrecision", other, boxes, 2) == Approx(1.0 / 3 + 2.0 / 9).epsilon(1e-12));
  CHECK(std::isnan(precision("MeanAveragePrecision", found, std::vector<double>(24, -1), 2)));
}
