#include <algorithm>
#include <catch2/catch.hpp>

#include "backends/graph/lower.h"
#include "backends/graph/windows.h"
#include "tests/backends/statistics_case.h"

using namespace neon;

TEST_CASE("batch norm's statistics of numbers far from 0, equal, or far from the first") {
  for (int threads : {1, 2}) CHECK(test::difference_of_statistics({.program = {.threads = threads}}) == "");
}

TEST_CASE("batch norm and its gradients of numbers near 5000 are as exact as near 0") {
  for (int threads : {1, 2}) CHECK(test::difference_of_gradients({.program = {.threads = threads}}) == "");
  CHECK(test::difference_of_gradients({.program = {.threads = 1, .fuse = false}}) == "");
}

namespace {

// The most sums of a kernel of which each follows from the one before: readings of its array before the last.
int readings_for_sums(const Lowered& lowered) {
  int most = 0;
  for (const LoweredKernel& kernel : lowered.kernels)
    for (const Segment& segment : kernel.fused ? kernel.fused->segments : std::vector<Segment>{}) {
      std::vector<int> levels;
      for (const Instruction& i : segment.body) {
        int level = 0;
        for (int input : i.inputs) level = std::max(level, levels[size_t(input)]);
        levels.push_back(level + (i.kind == Instruction::Kind::reduce));
        most = std::max(most, levels.back());
      }
    }
  return most;
}

}  // namespace

TEST_CASE("one reading makes both statistics, also behind a convolution's bias") {
  for (DType dtype : {DType::f32, DType::f16})
    for (bool bias : {false, true}) {
      INFO(std::string(name_of(dtype)) << (bias ? ", bias" : ""));
      Graph graph;
      const Shape statistic{1, 1, 1, 16};
      const Value w = graph.variable("w", dtype, {16, 3, 3, 8});
      Expr y(graph, convolution(graph, graph.input("x", dtype, {8, 32, 32, 8}), w,
                                Windows{{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, 1));
      if (bias) y = y + Expr(graph, graph.variable("b", dtype, {16}));
      if (dtype != DType::f32) y = cast(y, DType::f32);
      const std::vector<Value> found = graph.add_all(
          "batch_norm",
          {y, graph.variable("gamma", DType::f32, statistic), graph.variable("beta", DType::f32, statistic)},
          {{"axes", std::vector<int64_t>{0, 1, 2}}, {"epsilon", 1e-3}});
      graph.output("y", found[0]);
      const Lowered lowered = lower(graph);
      INFO(to_string(lowered));
      CHECK(lowered.kernels.size() == 2);
      CHECK(readings_for_sums(lowered) == 1);
    }
}
