// Traits of ops and the table of passes: what passes ask an op instead of its name.
#include <catch2/catch.hpp>

#include "backends/graph/expression.h"
#include "backends/graph/lower.h"
#include "backends/graph/ops.h"

using namespace neon;

namespace {

std::vector<TensorType> infer_same(const InferContext& c) { return {c.inputs[0]}; }

// Ops that no pass knows by name.
const OpRegistration named_by_nobody[] = {
    OpRegistration({.name = "test_moves", .infer = infer_same, .traits = {.moves = true}}),
    OpRegistration({.name = "test_given", .infer = infer_same, .traits = {.takes_relu = true}}),
    OpRegistration({.name = "test_enlarges", .infer = infer_same, .traits = {.enlarges = true}}),
};

Expr node(Graph& graph, const char* op, Expr x) { return {graph, graph.add(op, {x})}; }

std::vector<std::string> summaries(const Lowered& lowered) {
  std::vector<std::string> out;
  for (const LoweredKernel& kernel : lowered.kernels) out.push_back(summary(kernel));
  return out;
}

}  // namespace

TEST_CASE("handles of ops that are rows of the elementwise table are of such rows") {
  for (OpName name : {ops::add, ops::identity, ops::logistic, ops::relu}) {
    const Op* op = find_op(name);
    REQUIRE(op);
    CHECK(op->is_elementwise());
    CHECK(op->is(name));
  }
}

TEST_CASE("traits agree with each other") {
  for (const Op* op : all_ops()) {
    INFO(std::string(op->name));
    const OpTraits& t = op->traits;
    CHECK((t.leaf != LeafKind::none) == (t.fusion == Fusion::leaf));
    CHECK((t.reduction != Reduction::none) == (t.fusion == Fusion::reduction));
    CHECK((!op->is_elementwise() || t.fusion == Fusion::elements));
    CHECK(int(t.product != ProductKind::none) + int(t.convolution != ConvolutionKind::none) +
              int(t.fusion != Fusion::never) <=
          1);
  }
}

TEST_CASE("a new op takes part in passes by its traits alone") {
  Graph graph;
  const Expr x(graph, graph.input("x", DType::f32, {4, 8}));
  graph.output("y", apply("relu", node(graph, "test_given", x)));
  CHECK(summaries(lower(graph)) == std::vector<std::string>{"test_given + relu"});
  Graph other;
  const Expr z(other, other.input("x", DType::f32, {4, 8}));
  other.output("y", apply("relu", node(other, "test_moves", z)));
  CHECK(summaries(lower(other)) == std::vector<std::string>{"test_moves", "fused"});
}

TEST_CASE("what is many times as large as its operand is made just before its first reader") {
  Graph graph;
  const Expr x(graph, graph.input("x", DType::f32, {4, 8})), large = node(graph, "test_enlarges", x);
  const Expr other = node(graph, "test_moves", node(graph, "test_given", x));
  graph.output("y", node(graph, "test_moves", large + other));
  CHECK(summaries(lower(graph)) ==
        std::vector<std::string>{"test_given", "test_moves", "test_enlarges", "fused", "test_moves"});
}

TEST_CASE("the trace has a row for each pass, and says what it changed") {
  Graph graph;
  const Expr x(graph, graph.input("x", DType::f32, {4, 8}));
  graph.output("y", graph.add(ops::softmax, {apply("relu", x)}));
  const Lowered lowered = lower(graph);
  const auto rows = [&](const std::string& name) {
    const std::string all = passes_text(lowered);
    const size_t at = all.find(name + ": ");
    REQUIRE(at != all.npos);
    const size_t line = all.find('\n', at) + 5;
    return all.substr(line, all.find('\n', line) - line);
  };
  // exp(x - max) / sum
  CHECK(rows("definitions") == "+1 div, +1 exp, +1 max, -1 softmax, +1 sub, +1 sum");
  CHECK(rows("simplify") == "no change");
  CHECK(rows("fusion") == "+1 fused kernels, +6 nodes in them");
  CHECK(rows("join") == "not here; for a device whose arithmetic outruns its memory");
}

TEST_CASE("a wrong attribute or op is named with what was given") {
  Graph graph;
  const Value x = graph.input("x", DType::f32, {4, 6});
  const auto message = [&](const char* op, Attributes attributes) -> std::string {
    try {
      graph.add(op, {x}, std::move(attributes));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const std::vector<int64_t> order = {1, 0};
  CHECK(message("transpose", {{"prem", order}}) ==
        "the op 'transpose': attribute 'permutation' (a list of integers) is missing; it was given prem=(1, 0)");
  CHECK(message("transpose", {}) ==
        "the op 'transpose': attribute 'permutation' (a list of integers) is missing; it was given no attributes");
  CHECK(message("transpose", {{"permutation", 1.5}}) ==
        "the op 'transpose': attribute 'permutation' must be a list of integers, not a real number (1.5)");
  CHECK(message("transposed", {{"permutation", order}}) == "no op is named 'transposed'; did you mean transpose?");
  CHECK_THROWS_WITH(Attributes({{"axis", int64_t(1)}}).with("axis", int64_t(0)),
                    "attribute 'axis' is there already; it was given axis=1");
}
