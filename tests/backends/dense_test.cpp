// What products of dense layers' gradients take along on a device that makes them itself: which do, and that every
// kernel still runs after those whose results it reads.
#include <algorithm>
#include <catch2/catch.hpp>

#include "backends/graph/lower.h"
#include "backends/graph/ops.h"
#include "tests/backends/dense_cases.h"
#include "tests/backends/net_of_branches.h"
#include "tests/backends/random_graph.h"
#include "tests/backends/read_too_early.h"

using namespace neon;
using namespace neon::test;

namespace {

constexpr int64_t kAll = int64_t(1) << 40;

int derivatives(const Lowered& lowered) {
  return int(std::ranges::count_if(lowered.kernels, [](const LoweredKernel& k) { return k.derivative() != nullptr; }));
}
int sums(const Lowered& lowered) {
  return int(std::ranges::count_if(lowered.kernels,
                                   [](const LoweredKernel& k) { return k.is(ops::matmul) && k.outputs.size() == 2; }));
}

}  // namespace

TEST_CASE("derivatives and sums over the samples go with the products of a small net's gradients") {
  for (DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16})
    for (const DenseCase& c : dense_cases()) {
      const Graph graph = build_branches(c.build, dtype);
      const Lowered taken = lower(graph, {.kernels = {.own_products = kAll}}), apart = lower(graph);
      INFO(c.name << " in " << std::string(name_of(dtype)) << "\n" << to_string(taken));
      CHECK(derivatives(taken) == c.derivatives);
      CHECK(sums(taken) == c.sums);
      CHECK(taken.kernels.size() <= apart.kernels.size());
      CHECK(read_too_early(taken) == -1);
      CHECK(derivatives(apart) + sums(apart) == 0);
      CHECK(derivatives(lower(graph, {.passes = {}, .kernels = {.own_products = kAll}})) == 0);
    }
}

TEST_CASE("two layers with biases are six products' kernels and no others") {
  const auto cases = dense_cases();
  const auto found = std::ranges::find(cases, "relu and biases", &DenseCase::name);
  const Graph graph = build_branches(found->build, DType::f32);
  // Forward, and by x and by the weights, of each layer.
  CHECK(lower(graph, {.kernels = {.own_products = kAll}}).kernels.size() == 6);
  CHECK(lower(graph).kernels.size() == 8);
}

TEST_CASE("products of more work than a device makes itself take nothing along") {
  const Graph graph = build_branches(dense_cases()[1].build, DType::f32);
  // By the second layer's input (6,4) = (6,3) · (3,4), by its weights (3,4) = (3,6) · (6,4); by the first's (4,5) =
  // (4,6) · (6,5): where that one takes no sums, they are one kernel with relu's derivative as before.
  const struct {
    int64_t most;
    int derivatives, sums;
  } limits[] = {{6 * 4 * 5, 1, 2}, {6 * 4 * 5 - 1, 0, 1}, {6 * 3 * 4, 0, 1}, {6 * 3 * 4 - 1, 0, 0}};
  for (const auto& limit : limits) {
    INFO(limit.most);
    const Lowered lowered = lower(graph, {.kernels = {.own_products = limit.most}});
    CHECK(derivatives(lowered) == limit.derivatives);
    CHECK(sums(lowered) == limit.sums);
  }
}

TEST_CASE("random graphs whose products take things along keep their order") {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const RandomGraph random = random_graph(seed, {});
    const Lowered lowered = lower(random.graph, {.kernels = {.own_products = kAll}});
    INFO("seed " << seed << "\n" << to_string(lowered));
    CHECK(read_too_early(lowered) == -1);
  }
}

TEST_CASE("a sum that the other operand of its product waits for is a kernel of its own") {
  // s = sum of d over rows; x = z * s; dᵀ · x cannot make s, which x needs.
  Graph graph;
  const Value d = graph.input("d", DType::f32, {6, 4}), z = graph.input("z", DType::f32, {6, 4});
  const Value s = graph.add("sum", {d}, {{"axes", std::vector<int64_t>{0}}});
  const Value x = graph.add("mul", {z, s});
  graph.output("s", s);
  graph.output("y", matmul(graph, d, x, true, false));
  const Lowered lowered = lower(graph, {.kernels = {.own_products = kAll}});
  INFO(to_string(lowered));
  CHECK(sums(lowered) == 0);
  CHECK(read_too_early(lowered) == -1);
}
