// largest and nms against loops that count and compare boxes one by one, written out here with other arithmetic.
#include "backends/graph/boxes.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "tests/backends/run_case.h"

using namespace neon;
using namespace neon::test;

TEST_CASE("as many numbers of a row are taken as it asks for, none before a larger one") {
  for (const OpCase& c : cases_of(*find_op("largest"))) {
    INFO(c.to_string());
    const CaseRun run = run_case(c, DType::f64, DType::f64, ProgramOptions{.plain = true});
    const Tensor &x = run.inputs[0], &taken = run.outputs[0];
    const int64_t columns = x.shape()[1];
    for (int64_t n = 0; n < x.shape()[0]; ++n)
      for (int64_t i = 0; i < columns; ++i) {
        const double own = x.at(n * columns + i);
        int64_t before = 0;
        for (int64_t j = 0; j < columns; ++j)
          before += x.at(n * columns + j) > own || (x.at(n * columns + j) == own && j < i);
        const bool wanted = own > -HUGE_VAL && double(before) < std::floor(run.inputs[1].at(n));
        REQUIRE(taken.at(n * columns + i) == (wanted ? 1 : 0));
      }
  }
}

namespace {

double share(const Tensor& boxes, int64_t a, int64_t b, double edge) {
  const auto at = [&](int64_t box, int64_t k) { return boxes.at(box * 4 + k); };
  const auto area = [&](int64_t box) { return (at(box, 2) - at(box, 0) + edge) * (at(box, 3) - at(box, 1) + edge); };
  const double across = std::min(at(a, 2), at(b, 2)) - std::max(at(a, 0), at(b, 0)) + edge,
               down = std::min(at(a, 3), at(b, 3)) - std::max(at(a, 1), at(b, 1)) + edge;
  if (across <= 0 || down <= 0) return 0;
  return across * down / (area(a) + area(b) - across * down);
}

}  // namespace

TEST_CASE("the best boxes are chosen one after the other, and leave out those that overlap them") {
  int64_t left_out = 0;
  for (const OpCase& c : cases_of(*find_op("nms"))) {
    INFO(c.to_string());
    const CaseRun run = run_case(c, DType::f64, DType::f64, ProgramOptions{.plain = true});
    const Tensor &boxes = run.inputs[0], &scores = run.inputs[1];
    const int64_t count = scores.shape()[2], rows = scores.elements() / count, most = c.attributes.integer("most");
    for (int64_t row = 0; row < rows; ++row) {
      const auto score = [&](int64_t i) { return scores.at(row * count + i); };
      std::vector<int64_t> open, chosen;
      for (int64_t i = 0; i < count; ++i) {
        int64_t before = 0;
        for (int64_t j = 0; j < count; ++j) before += score(j) > score(i) || (score(j) == score(i) && j < i);
        const int64_t candidates = c.attributes.integer("candidates");
        if (score(i) > 0 && (candidates == 0 || before < candidates)) open.push_back(i);
      }
      while (!open.empty() && int64_t(chosen.size()) < most) {
        int64_t best = open[0];
        for (const int64_t i : open)
          if (score(i) > score(best)) best = i;
        chosen.push_back(best);
        const int64_t first = row / scores.shape()[1] * count;
        left_out += std::erase_if(open,
                                  [&](int64_t i) {
                                    return i == best ||
                                           share(boxes, first + best, first + i,
                                                 c.attributes.integer("pixels") ? 1 : 0) > c.attributes.real("overlap");
                                  }) -
                    1;
      }
      for (int64_t k = 0; k < most; ++k)
        REQUIRE(run.outputs[0].at(row * most + k) == (k < int64_t(chosen.size()) ? double(chosen[size_t(k)]) : -1));
    }
  }
  CHECK(left_out > 20);
}

TEST_CASE("numbers, counts, boxes and scores that do not go together") {
  Graph graph;
  const auto given = [&](const char* name, const Shape& shape, DType type = DType::f32) {
    return Expr(graph, graph.input(name, type, shape));
  };
  CHECK_THROWS_WITH(largest(given("a", {2, 3}), given("b", {3, 1})),
                    Catch::Contains("largest takes numbers (N,P) and counts (N,1) in f32 or f64, got f32 (2, 3)"));
  CHECK_THROWS_WITH(suppressed(graph, given("c", {2, 3, 4}), given("d", {2, 3}), {}),
                    Catch::Contains("nms takes boxes (N,P,4) and scores (N,K,P)"));
  CHECK_THROWS_WITH(suppressed(graph, given("e", {2, 3, 4}), given("f", {2, 1, 3}), {.most = 0}),
                    Catch::Contains("nms chooses 0 boxes of 0 candidates: one box at least"));
}
