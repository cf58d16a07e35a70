// What only slices read is not made as a whole, and what reads or makes columns of one array is one kernel.
#include <algorithm>

#include "backends/graph/lower.h"
#include "backends/graph/ops.h"
#include "backends/graph/passes.h"
#include "backends/graph/rewrite.h"
#include "tests/backends/lower_check.h"

using namespace neon;
using namespace neon::test;

namespace {

constexpr int64_t kRows = 3, kColumns = 12;

std::vector<double> numbered(double first) {
  std::vector<double> out;
  for (int64_t i = 0; i < kRows * kColumns; ++i) out.push_back(first + 0.25 * double(i));
  return out;
}

Expr columns(Expr of, int64_t first, int64_t count, int64_t axis = 1) {
  Graph& graph = of.graph();
  return {graph, graph.add("slice", {of}, {{"axis", axis}, {"first", first}, {"count", count}})};
}

struct Sums {
  int whole = 0, parts = 0;  // additions of as many elements as the inputs have, and of fewer
};

Sums sums_after(const Graph& graph) {
  const Graph out = with_slices_of_summands(graph);
  const std::vector<bool> live = live_nodes(out);
  Sums sums;
  for (int n = 0; n < out.node_count(); ++n)
    if (live[size_t(n)] && out.node(n).op->is(ops::add))
      ++(out.shape(out.node(n).outputs[0]).elements() == kRows * kColumns ? sums.whole : sums.parts);
  return sums;
}

class Inputs : public Check {
 public:
  Expr a = input("a", array({kRows, kColumns}, numbered(1))), b = input("b", array({kRows, kColumns}, numbered(-2))),
       c = input("c", array({kRows, kColumns}, numbered(5)));
  void end(const char* name, Expr part) { graph.output(name, part * 2.0); }
};

// Columns `first` to `first + count` of an array whose element i is of(i), times 2.
std::vector<double> doubled(int64_t first, int64_t count, double (*of)(double)) {
  std::vector<double> out;
  for (int64_t row = 0; row < kRows; ++row)
    for (int64_t column = first; column < first + count; ++column)
      out.push_back(2 * of(double(row * kColumns + column)));
  return out;
}

}  // namespace

TEST_CASE("a sum that only slices read is added up by those who read them") {
  Inputs two;
  const Expr sum = two.a + two.b;
  two.end("left", columns(sum, 0, 5)), two.end("right", columns(sum, 5, 7));
  CHECK(sums_after(two.graph).whole == 0);
  CHECK(sums_after(two.graph).parts == 2);
  const auto of = [](double i) { return 1 - 2 + 2 * 0.25 * i; };
  two.expect("left", doubled(0, 5, of)), two.expect("right", doubled(5, 7, of));
  two.agree();
  for (bool whole : {false, true}) {
    INFO((whole ? "as it is" : "columns together"));
    const auto got = two.run({.threads = 2, .also = !whole ? PassSet(LowerPass::columns) : PassSet()});
    CHECK(got.at("left") == doubled(0, 5, of));
    CHECK(got.at("right") == doubled(5, 7, of));
  }
}

TEST_CASE("so is a sum of three") {
  Inputs three;
  const Expr sum = three.a + three.b + three.c;
  three.end("left", columns(sum, 0, 5)), three.end("right", columns(sum, 6, 6));
  CHECK(sums_after(three.graph).whole == 0);
  CHECK(sums_after(three.graph).parts == 4);
  const auto got = three.run({.threads = 2, .also = LowerPass::columns});
  CHECK(got.at("right") == doubled(6, 6, [](double i) { return 1 - 2 + 5 + 3 * 0.25 * i; }));
}

TEST_CASE("a sum that others read, or slices read twice, is made as a whole") {
  const auto whole = [](void (*end)(Inputs&, Expr)) {
    Inputs inputs;
    end(inputs, inputs.a + inputs.b);
    return sums_after(inputs.graph).whole;
  };
  CHECK(whole([](Inputs& n, Expr sum) { n.end("left", columns(sum, 0, 5)), n.graph.output("sum", sum); }) == 1);
  CHECK(whole([](Inputs& n, Expr sum) { n.end("left", columns(sum, 0, 5)), n.end("all", exp(sum)); }) == 1);
  CHECK(whole([](Inputs& n, Expr sum) { n.end("left", columns(sum, 0, 5)), n.end("right", columns(sum, 4, 8)); }) == 1);
  CHECK(whole([](Inputs& n, Expr sum) { n.end("left", columns(sum, 0, 5)), n.end("up", columns(sum, 0, 1, 0)); }) == 1);
  CHECK(whole([](Inputs& n, Expr sum) { n.end("left", columns(sum, 0, 5)); }) == 0);
}

TEST_CASE("a sum of what would have to be put into memory first is made as a whole") {
  const auto whole = [](Expr (*summand)(Inputs&)) {
    Inputs inputs;
    inputs.end("left", columns(inputs.a + summand(inputs), 0, 5));
    return sums_after(inputs.graph).whole;
  };
  CHECK(whole([](Inputs& n) { return n.input("row", array({kColumns}, {1, 2, 3})); }) == 1);
  CHECK(whole([](Inputs& n) { return exp(n.b); }) == 1);
  CHECK(whole([](Inputs& n) { return n.b + exp(n.c); }) == 2);
  CHECK(whole([](Inputs& n) { return columns(n.input("wide", array({kRows, 20}, {1, 2, 3})), 4, kColumns); }) == 1);
  CHECK(whole([](Inputs& n) { return Expr(n.graph, uniform(n.graph, {kRows, kColumns}, 3, "draw")); }) == 1);
}

TEST_CASE("a sum that is for others, too, is no summand to be taken apart") {
  Inputs inputs;
  const Expr sum = inputs.a + inputs.b;
  inputs.end("other", exp(sum));
  inputs.end("left", columns(sum + inputs.c, 0, 5));
  CHECK(sums_after(inputs.graph).whole == 2);
}

namespace {

int kernels(const Graph& graph, bool together) {
  return int(
      lower(graph, {.passes = kUsualPasses | (together ? PassSet(LowerPass::columns) : PassSet()) | LowerPass::join})
          .kernels.size());
}

}  // namespace

TEST_CASE("what reads columns of one array is one kernel, with sums of its own") {
  Inputs inputs;
  for (int64_t first : {0, 4, 8}) {
    const Expr part = apply("relu", columns(inputs.a, first, 4));
    inputs.graph.output(text("part", first), part);
    inputs.graph.output(text("sum", first), sum(part, {0}));
  }
  CHECK(kernels(inputs.graph, false) == 3);
  CHECK(kernels(inputs.graph, true) == 1);
  std::vector<double> sums;
  for (int64_t column = 4; column < 8; ++column)
    sums.push_back(kRows * (1 + 0.25 * double(column)) + 0.25 * kColumns * (0 + 1 + 2));
  inputs.expect("sum4", sums);
  inputs.agree();
  CHECK(inputs.run({.threads = 2, .also = LowerPass::columns}).at("sum4") == sums);
}

TEST_CASE("rows of one array are left to kernels of their own") {
  Inputs inputs;
  for (int64_t row : {0, 1}) inputs.end(text("row", row).c_str(), columns(inputs.a, row, 1, 0));
  CHECK(kernels(inputs.graph, true) == 2);
}

TEST_CASE("columns of which each number needs their mean again are left to kernels of their own") {
  Inputs inputs;
  for (int64_t first : {0, 6}) {
    const Expr part = columns(inputs.a, first, 6);
    inputs.end(text("centred", first).c_str(), part - mean(part, {0}));
  }
  CHECK(kernels(inputs.graph, true) == 2);
}

TEST_CASE("what makes columns of one array is one kernel") {
  Inputs inputs;
  const Expr left(inputs.graph, matmul(inputs.graph, inputs.a, inputs.input("w", array({kColumns, 8}, {0.5, 1}))));
  const Expr right(inputs.graph, matmul(inputs.graph, inputs.b, inputs.input("v", array({kColumns, 4}, {2, -1}))));
  const Value both = inputs.graph.add("concat", {exp(left), apply("tanh", right)}, {{"axis", int64_t(1)}});
  inputs.graph.output("sum", sum(Expr(inputs.graph, both), {1}));
  CHECK(kernels(inputs.graph, false) == 2 + 2 + 1);
  CHECK(kernels(inputs.graph, true) == 2 + 1 + 1);
}

TEST_CASE("columns of which one waits for the other are not") {
  Inputs inputs;
  const Expr first = exp(columns(inputs.a, 0, 6));
  const Expr w = inputs.input("w", array({6, 6}, {0.5, 1}));
  inputs.graph.output("y", columns(inputs.a, 6, 6) * Expr(inputs.graph, matmul(inputs.graph, first, w)));
  CHECK(kernels(inputs.graph, true) == 3);
}

namespace {

std::vector<size_t> segments(const Graph& graph) {
  std::vector<size_t> out;
  for (const LoweredKernel& kernel : lower(graph, {.passes = kUsualPasses | LowerPass::columns}).kernels)
    out.push_back(kernel.fused ? kernel.fused->segments.size() : 0);
  return out;
}

}  // namespace

TEST_CASE("kernels of very many columns have so many segments, and no more totals than a block folds") {
  constexpr int64_t kMany = 300;
  Graph graph;
  const Expr x(graph, graph.input("x", DType::f32, {20, kMany}));
  for (int64_t i = 0; i < kMany; ++i) graph.output(text("column", i), exp(columns(x, i, 1)));
  for (size_t count : segments(graph)) CHECK(count <= 16);
  CHECK(segments(graph).size() == 19);  // 300 / 16
  Graph totals;
  const Expr y(totals, totals.input("y", DType::f32, {20, kMany}));
  Expr all = y.constant(0);
  for (int64_t i = 0; i < kMany; ++i) all = all + sum(columns(y, i, 1), {0, 1});
  totals.output("all", all);
  for (size_t count : segments(totals)) CHECK(count <= 128);
}

TEST_CASE("a net whose every layer reads all before it is stored in no more memory") {
  Graph graph;
  const Value x = graph.variable("x", DType::f32, {8, 16});
  Expr seen(graph, x);
  for (int layer = 0; layer < 12; ++layer) {
    const Value w = graph.variable(text("w", layer), DType::f32, {seen.shape()[1], 16});
    const Expr made = apply("relu", Expr(graph, matmul(graph, seen, w)));
    seen = Expr(graph, graph.add("concat", {seen, made}, {{"axis", int64_t(1)}}));
  }
  graph.output("slope", gradients(graph, sum(square(seen), {0, 1}), std::span(&x, 1))[0]);
  const Lowered apart = lower(graph, {.passes = kUsualPasses | LowerPass::join}),
                together = lower(graph, {.passes = kUsualPasses | LowerPass::columns | LowerPass::join});
  CHECK(together.value_bytes <= apart.value_bytes);
  CHECK(together.kernels.size() <= apart.kernels.size());
}

TEST_CASE("columns are not computed in f64 because others are") {
  Inputs inputs;
  inputs.end("narrow", exp(columns(inputs.a, 0, 4)));
  inputs.graph.output("wide", cast(exp(columns(inputs.a, 4, 4)), DType::f64));
  inputs.end("narrow too", exp(columns(inputs.a, 8, 4)));
  const Lowered lowered = lower(inputs.graph, {.passes = kUsualPasses | LowerPass::columns});
  CHECK(lowered.kernels.size() > 1);
  for (const LoweredKernel& kernel : lowered.kernels)
    for (Value made : kernel.outputs) CHECK(kernel.fused->compute == lowered.graph.dtype(made));
}
