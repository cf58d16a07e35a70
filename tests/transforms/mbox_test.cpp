// The cost of prior boxes against plain loops, its gradient against differences of these, and detections.
#include <catch2/catch.hpp>
#include <cmath>

#include "backends/graph/op.h"
#include "neon/core/random.h"
#include "tests/support/golden.h"
#include "tests/transforms/box_support.h"
#include "transforms/cost.h"

using namespace neon;
using namespace neon_test;

namespace {

constexpr int64_t kImages = 3, kObjects = 3, kClasses = 2, kPriors = 30;

// What a net says at its prior boxes, and the objects: two in the first image, none in the second, and in the third two
// that share their best prior box.
struct Said {
  std::vector<double> scores, offsets, priors, boxes;
};

Said said() {
  Said out;
  Stream stream(3, "boxes");
  for (int64_t i = 0; i < kImages * kPriors * (kClasses + 1); ++i) out.scores.push_back(4 * stream.uniform() - 2);
  for (int64_t i = 0; i < kImages * kPriors * 4; ++i) out.offsets.push_back(4 * stream.uniform() - 2);
  for (int64_t i = 0; i < kPriors; ++i) {
    const double x = double(i % 6) / 6, y = double(i / 6) / 5, side = i % 2 ? 0.3 : 0.18;
    for (const double number : {x, y, x + side, y + 0.25}) out.priors.push_back(number);
  }
  out.boxes = {1,  0.32, 0.19, 0.66, 0.44, 0, 0,  0.7,  0.05, 0.85, 0.3,  1, -1, 0,   0,   0,    0,    0,
               -1, 0,    0,    0,    0,    0, -1, 0,    0,    0,    0,    0, -1, 0,   0,   0,    0,    0,
               0,  0.17, 0.2,  0.46, 0.45, 0, 1,  0.18, 0.21, 0.45, 0.44, 0, 0,  0.9, 0.9, 0.91, 0.91, 0};
  return out;
}

Corners corners(const std::vector<double>& from, size_t at) {
  return {from[at], from[at + 1], from[at + 2], from[at + 3]};
}

// The cost of each image, as the paper has it, prior box by prior box.
std::vector<double> costs_of(const Said& y, double least, double free_below, double ratio, double location) {
  std::vector<double> out;
  for (size_t n = 0; n < kImages; ++n) {
    std::vector<int> object(kPriors, -1);
    std::vector<double> most(kPriors, -1), forced(kPriors, 0);
    for (int m = 0; m < kObjects; ++m) {
      const size_t row = (n * kObjects + size_t(m)) * 6;
      if (y.boxes[row] < 0) continue;
      for (size_t p = 0; p < kPriors; ++p)
        if (const double shared = overlap(corners(y.priors, 4 * p), corners(y.boxes, row + 1)); shared > most[p]) {
          most[p] = shared;
          object[p] = m;
        }
    }
    for (size_t p = 0; p < kPriors; ++p)
      if (most[p] < least) object[p] = -1;
    for (int m = 0; m < kObjects; ++m) {
      const size_t row = (n * kObjects + size_t(m)) * 6;
      if (y.boxes[row] < 0) continue;
      size_t best = 0;
      for (size_t p = 0; p < kPriors; ++p)
        if (overlap(corners(y.priors, 4 * p), corners(y.boxes, row + 1)) >
            overlap(corners(y.priors, 4 * best), corners(y.boxes, row + 1)))
          best = p;
      const double shared = overlap(corners(y.priors, 4 * best), corners(y.boxes, row + 1));
      if (1 + shared > forced[best]) forced[best] = 1 + shared, object[best] = m;
    }
    double cost = 0, positives = 0;
    std::vector<double> background;
    for (size_t p = 0; p < kPriors; ++p) {
      const double* scores = &y.scores[(n * kPriors + p) * (kClasses + 1)];
      double sum = 0;
      for (int k = 0; k <= kClasses; ++k) sum += std::exp(scores[k]);
      const auto of_class = [&](size_t k) { return std::log(sum) - scores[k]; };
      if (object[p] < 0) {
        if (most[p] < free_below) background.push_back(of_class(kClasses));
        continue;
      }
      ++positives;
      const size_t row = (n * kObjects + size_t(object[p])) * 6;
      cost += of_class(size_t(y.boxes[row]));
      const Corners prior = corners(y.priors, 4 * p), box = corners(y.boxes, row + 1);
      for (size_t axis = 0; axis < 2; ++axis) {
        const double size = prior[axis + 2] - prior[axis], own = box[axis + 2] - box[axis];
        const double wanted[] = {(box[axis] + own / 2 - prior[axis] - size / 2) / size / 0.1,
                                 std::log(own / size) / 0.2};
        for (size_t which = 0; which < 2; ++which) {
          const double d = std::abs(y.offsets[(n * kPriors + p) * 4 + axis + 2 * which] - wanted[which]);
          cost += location * (d < 1 ? d * d / 2 : d - 0.5);
        }
      }
    }
    std::ranges::sort(background, std::greater());
    for (size_t i = 0; i < background.size() && double(i) < std::floor(ratio * positives); ++i) cost += background[i];
    out.push_back(cost / std::max(positives, 1.0));
  }
  return out;
}

struct BoxGraph {
  Graph graph;
  BoxOutputs outputs;
  Expr boxes;
  explicit BoxGraph(DType dtype) {
    const auto given = [&](const char* name, const Shape& shape) {
      return Expr(graph, graph.input(name, dtype, shape));
    };
    outputs = {given("scores", {kImages, kPriors, kClasses + 1}), given("offsets", {kImages, kPriors, 4}),
               given("priors", {1, kPriors, 4})};
    boxes = given("boxes", {kImages, kObjects, 6});
  }
  std::unique_ptr<Program> run(const Said& y, const Arithmetic& arithmetic) {
    auto program = compiled(graph, variables, arithmetic);
    const auto bind = [&](const char* name, const std::vector<double>& numbers) {
      Tensor& tensor = given[name] = Tensor(arithmetic.dtype, {int64_t(numbers.size())});
      for (size_t i = 0; i < numbers.size(); ++i) tensor.set(int64_t(i), numbers[i]);
      program->bind(name, tensor.data());
    };
    bind("scores", y.scores), bind("offsets", y.offsets), bind("priors", y.priors), bind("boxes", y.boxes);
    program->run(1);
    return program;
  }
  Variables variables;
  std::map<std::string, Tensor> given;
};

}  // namespace

TEST_CASE("MBox adds up the costs of matched prior boxes and of the hardest others", "[device]") {
  const Said y = said();
  struct Way {
    const char* spec;
    double least, free_below, ratio, location;
  };
  for (const Way& way :
       {Way{"MBox", 0.5, 0.5, 3, 1},
        Way{"MBox: {overlap: 0.3, negative_overlap: 0.2, negatives: 1.5, location: 0.25}", 0.3, 0.2, 1.5, 0.25},
        Way{"MBox: {negatives: 1000}", 0.5, 0.5, 1000, 1}, Way{"MBox: {negatives: 0}", 0.5, 0.5, 0, 1}})
    for (const Arithmetic& arithmetic : arithmetics()) {
      if (compute_type(arithmetic.dtype) != arithmetic.dtype) continue;
      INFO(way.spec << ", " << arithmetic.name);
      BoxGraph made(arithmetic.dtype);
      const auto cost = Registry<Cost>::get().create(yaml_of(way.spec));
      const Expr each = cost->of_boxes(made.outputs, made.boxes);
      made.graph.output("cost", each);
      const std::vector<Value> wanted = {made.outputs.scores, made.outputs.offsets};
      const std::vector<Value> derived = gradients(made.graph, sum(each, {0, 1}), wanted);
      made.graph.output("by scores", derived[0]), made.graph.output("by offsets", derived[1]);
      const auto program = made.run(y, arithmetic);
      const std::vector<double> expected = costs_of(y, way.least, way.free_below, way.ratio, way.location);
      const double rounding = 4096 * unit_roundoff(arithmetic.dtype);
      for (size_t n = 0; n < kImages; ++n)
        check_close(program->output("cost").at(int64_t(n)), expected[n], rounding * 10);
      CHECK(expected[1] == 0);
      const auto total = [&](const Said& changed) {
        double sum = 0;
        for (const double number : costs_of(changed, way.least, way.free_below, way.ratio, way.location)) sum += number;
        return sum;
      };
      constexpr double kStep = 1e-6;
      for (const bool of_scores : {true, false}) {
        const Tensor by = program->output(of_scores ? "by scores" : "by offsets");
        for (int64_t i = 0; i < by.elements(); i += 5) {
          Said more = y, less = y;
          (of_scores ? more.scores : more.offsets)[size_t(i)] += kStep;
          (of_scores ? less.scores : less.offsets)[size_t(i)] -= kStep;
          INFO((of_scores ? "score " : "offset ") << i);
          check_close(by.at(i), (total(more) - total(less)) / (2 * kStep), 1e-6 + rounding);
        }
      }
    }
}

TEST_CASE("detections are the best boxes of each class, and the best of all of these", "[device]") {
  Said y = said();
  for (double& offset : y.offsets) offset /= 4;
  for (const Arithmetic& arithmetic : arithmetics()) {
    if (arithmetic.dtype != DType::f64) continue;
    BoxGraph made(arithmetic.dtype);
    DetectionParams by;
    by.overlap = 0.2, by.least = 0.25, by.candidates = 12, by.most = 7;
    made.graph.output("found", detections_of(made.outputs, by));
    const auto program = made.run(y, arithmetic);
    const Tensor found = program->output("found");
    REQUIRE(found.shape() == Shape{kImages, 7, kDetectionNumbers});
    for (size_t n = 0; n < kImages; ++n) {
      struct Detection {
        double score;
        size_t label;
        Corners box;
      };
      std::vector<Detection> all;
      for (size_t k = 0; k < kClasses; ++k) {
        std::vector<Detection> of_class;
        for (size_t p = 0; p < kPriors; ++p) {
          const double* scores = &y.scores[(n * kPriors + p) * (kClasses + 1)];
          double sum = 0;
          for (int j = 0; j <= kClasses; ++j) sum += std::exp(scores[j]);
          const Corners prior = corners(y.priors, 4 * p), offset = corners(y.offsets, (n * kPriors + p) * 4);
          Corners box;
          for (size_t axis = 0; axis < 2; ++axis) {
            const double size = prior[axis + 2] - prior[axis];
            const double middle = prior[axis] + size / 2 + 0.1 * offset[axis] * size,
                         own = size * std::exp(0.2 * offset[axis + 2]);
            box[axis] = std::clamp(middle - own / 2, 0.0, 1.0), box[axis + 2] = std::clamp(middle + own / 2, 0.0, 1.0);
          }
          of_class.push_back({std::exp(scores[k]) / sum, k, box});
        }
        std::ranges::stable_sort(of_class, std::greater(), &Detection::score);
        of_class.resize(12);
        std::vector<Detection> kept;
        for (const Detection& one : of_class)
          if (one.score > 0.25 && kept.size() < 7 &&
              std::ranges::none_of(kept, [&](const Detection& other) { return overlap(other.box, one.box) > 0.2; }))
            kept.push_back(one);
        all.insert(all.end(), kept.begin(), kept.end());
      }
      std::ranges::stable_sort(all, std::greater(), &Detection::score);
      for (size_t d = 0; d < 7; ++d) {
        INFO("image " << n << ", detection " << d);
        const auto number = [&](int64_t k) { return found.at(int64_t((n * 7 + d) * 6) + k); };
        if (d >= all.size()) {
          CHECK(number(0) == -1);
          continue;
        }
        CHECK(number(0) == double(all[d].label));
        check_close(number(1), all[d].score, 1e-12);
        for (size_t k = 0; k < 4; ++k) check_close(number(int64_t(k) + 2), all[d].box[k], 1e-12);
      }
    }
  }
}
