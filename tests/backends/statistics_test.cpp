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

TEST_CASE("one reading makes both statistics of what a kernel makes as it reads") {
  const char* const kinds[] = {"relu",     "relu of a bias", "gelu",  "slope of each channel",
                               "residual", "two residuals",  "pooled"};
  for (const std::string kind : kinds)
    for (DType dtype : {DType::f32, DType::f16}) {
      INFO(kind << " in " << std::string(name_of(dtype)));
      Graph graph;
      const Windows windows{{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
      const Shape statistic{1, 1, 1, 16};
      int filters = 0;
      const auto convolved = [&](Expr x) {
        const Value w = graph.variable("w" + std::to_string(filters++), dtype, {16, 3, 3, x.shape().back()});
        return Expr(graph, convolution(graph, x, w, windows, 1));
      };
      const auto row = [&](const char* name) { return Expr(graph, graph.variable(name, dtype, {16})); };
      const auto normed = [&](Expr y, const std::string& name) {
        const Value gamma = graph.variable(name + "/gamma", DType::f32, statistic),
                    beta = graph.variable(name + "/beta", DType::f32, statistic);
        const Value x = cast(graph, y, DType::f32);
        const Attributes attributes{{"axes", std::vector<int64_t>{0, 1, 2}}, {"epsilon", 1e-3}};
        return cast(Expr(graph, graph.add_all("batch_norm", {x, gamma, beta}, attributes)[0]), dtype);
      };
      Expr y = convolved({graph, graph.input("x", dtype, {8, 32, 32, 8})});
      if (kind == "relu") y = apply("relu", y);
      if (kind == "relu of a bias") y = apply("relu", y + row("bias"));
      if (kind == "gelu") y = apply("gelu", y + row("bias"));
      if (kind == "slope of each channel") y = apply("leaky_relu", y, row("slope"));
      if (kind == "pooled") {
        const Attributes window = {{"window", std::vector<int64_t>{3, 3, 1}},
                                   {"strides", std::vector<int64_t>{1, 1, 1}},
                                   {"padding", std::vector<int64_t>{1, 1, 1, 1, 0, 0}}};
        y = apply("relu", {graph, graph.add_all("pool_max", {y}, window)[0]});
      }
      for (int i = 0; i < (kind == "residual" ? 1 : kind == "two residuals" ? 2 : 0); ++i)
        y = convolved(apply("relu", normed(y, "norm" + std::to_string(i)))) + y;
      graph.output("y", normed(y, "last"));
      const Lowered lowered = lower(graph, {.passes = kUsualPasses | LowerPass::remake});
      INFO(to_string(lowered));
      CHECK(readings_for_sums(lowered) == 1);
      // A kernel for each convolution and pooling, and one for each batch norm.
      CHECK(lowered.kernels.size() == (kind == "pooled"          ? 3
                                       : kind == "residual"      ? 4
                                       : kind == "two residuals" ? 6
                                                                 : 2));
    }
}

TEST_CASE("batch norm is not given first numbers that would take a kernel or keep another's result") {
  Graph graph;
  const Shape images{8, 32, 32, 16}, statistic{1, 1, 1, 16};
  const Expr drawn(graph, uniform(graph, images, 1, "drawn"));
  const Expr x(graph, graph.input("x", DType::f32, images));
  graph.output(
      "y", graph.add_all("batch_norm",
                         {x * apply("less", drawn, drawn.constant(0.5)), graph.variable("gamma", DType::f32, statistic),
                          graph.variable("beta", DType::f32, statistic)},
                         {{"axes", std::vector<int64_t>{0, 1, 2}}, {"epsilon", 1e-3}})[0]);
  const Lowered lowered = lower(graph);
  INFO(to_string(lowered));
  CHECK(lowered.kernels.size() == 1);
}
