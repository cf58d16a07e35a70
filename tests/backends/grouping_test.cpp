// Nodes that grouping joins before others: readers of one large array, totals and what takes them, sums of the arrays
// that one kernel makes.
#include <algorithm>
#include <catch2/catch.hpp>

#include "backends/graph/expression.h"
#include "backends/graph/lower.h"
#include "backends/graph/ops.h"

using namespace neon;

namespace {

// Fused kernels that read or write an array of so many elements.
int walks_over(const Lowered& lowered, int64_t elements) {
  const auto is_it = [&](Value value) { return lowered.graph.shape(value).elements() == elements; };
  return int(std::ranges::count_if(lowered.kernels, [&](const LoweredKernel& kernel) {
    return kernel.fused && (std::ranges::any_of(kernel.inputs, is_it) || std::ranges::any_of(kernel.outputs, is_it));
  }));
}

// The mean cost over rows with a label, and its derivative by the weights of logits (rows, classes). The number of such
// rows stands between the two.
Lowered classifier(int64_t rows, int64_t classes) {
  Graph graph;
  const Value x = graph.input("x", DType::f32, {rows, 8}), w = graph.input("w", DType::f32, {classes, 8});
  const Expr logits(graph, matmul(graph, x, w, false, true));
  const Expr labels(graph, graph.input("labels", DType::f32, {rows, 1}));
  const Expr counts = apply("greater_equal", labels, labels.constant(0));
  const Expr targets = apply("equal", labels, Expr(graph, iota(graph, {1, classes}, 1)));
  const Expr of_rows(graph, graph.add(ops::softmax_cross_entropy, {logits, targets}));
  const auto turned = [&](Expr of_steps) {  // as sums over the steps of each sample are made
    return Expr(graph, transpose(graph, reshape(of_steps, {16, rows / 16}), {1, 0}));
  };
  const Expr cost = sum(turned(of_rows * counts), {0, 1}) / sum(turned(counts), {0, 1});
  graph.output("cost", cost);
  graph.output("gradient", gradients(graph, cost, std::vector{w})[0]);
  return lower(graph);
}

}  // namespace

TEST_CASE("the cost and the gradient of many logits are one kernel, which reads them once") {
  const Lowered large = classifier(1024, 8192);
  INFO(to_string(large));
  CHECK(walks_over(large, 1024 * 8192) == 1);
}

TEST_CASE("a number that takes totals is of their kernel, whatever else it takes") {
  // Adds up the faults of two arrays, and first that of a number which is no total: as the finite check does.
  Graph graph;
  const Expr row(graph, graph.input("row", DType::f32, {1, 16}));
  Expr faults = sum(row, {1}) / 3.0;
  for (const char* name : {"a", "b", "c"}) {
    const Expr array(graph, graph.input(name, DType::f32, {300, 70}));
    faults = faults + sum(1.0 - apply("is_finite", array), {0, 1});
  }
  graph.output("faults", faults);
  const Lowered lowered = lower(graph);
  INFO(to_string(lowered));
  CHECK(lowered.kernels.size() <= 2);
}
