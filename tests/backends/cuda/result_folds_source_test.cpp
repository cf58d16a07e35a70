// Convolutions that fold their results for a batch norm: which do, what remains of batch norm, and their texts.
#include <algorithm>
#include <catch2/catch.hpp>

#include "backends/cuda/compile.h"
#include "backends/cuda/op_source.h"
#include "backends/cuda/pairs_plan.h"
#include "backends/cuda/source.h"
#include "backends/graph/expression.h"
#include "backends/graph/folds.h"
#include "backends/graph/windows.h"
#include "tests/backends/cuda/result_folds_cases.h"

using namespace neon;
using namespace neon::test;

namespace {

Lowered seen_by_gpu(const Graph& graph, int arch = 90) {
  return lower(graph, cuda::gpu_lowering(true, false, arch, 132));
}

// The kernel that folds its result; null without one.
const LoweredKernel* folding(const Lowered& lowered) {
  const auto found = std::ranges::find_if(lowered.kernels, [](const LoweredKernel& k) { return k.folds() != nullptr; });
  return found == lowered.kernels.end() ? nullptr : &*found;
}

bool has_folds(const FusedKernel& code) {
  return std::ranges::any_of(code.segments, [](const Segment& segment) {
    return std::ranges::any_of(segment.body, [](const Instruction& i) { return i.kind == Instruction::Kind::reduce; });
  });
}

Value output_of(const Lowered& lowered, const std::string& name) {
  for (const auto& [of, value] : lowered.graph.outputs())
    if (of == name) return value;
  return {};
}

const LoweredKernel& last_fused(const Lowered& lowered) {
  return *std::find_if(lowered.kernels.rbegin(), lowered.kernels.rend(),
                       [](const LoweredKernel& k) { return k.fused != nullptr; });
}

// Sums of a convolution's results relative to the first of each map, by outputs of the graph.
struct Sums {
  Graph graph;
  Expr result;

  explicit Sums(const Shape& x = {90, 40, 40, 64}, DType dtype = DType::f16)
      : result(graph, convolution(graph, graph.variable("x", dtype, x), graph.variable("w", dtype, {64, 3, 3, x[3]}),
                                  Windows{{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, 1)) {
    graph.output("result", result);
  }
  Expr shifted() { return shifted_by(result, 0); }
  // By a row of an array of that shape.
  Expr shifted_by(Value array, int64_t row) {
    const Value rows = reshape(graph, array, {result.shape().elements() / 64, 1, 1, 64});
    const Value first = graph.add("slice", {rows}, {{"axis", int64_t(0)}, {"first", row}, {"count", int64_t(1)}});
    return cast(result, DType::f32) - cast(Expr(graph, first), DType::f32);
  }
};

}  // namespace

TEST_CASE("convolutions whose kernels fold make the sums of a batch norm, on compute capability 9.0 alone") {
  for (const DType dtype : {DType::f16, DType::bf16})
    for (const ResultFoldsCase& c : result_folds_cases()) {
      INFO(c.name << " in " << std::string(name_of(dtype)));
      const Graph graph = result_folds(c, dtype);
      const Lowered lowered = seen_by_gpu(graph);
      INFO(to_string(lowered));
      const LoweredKernel* const kernel = folding(lowered);
      REQUIRE(kernel);
      CHECK(kernel->convolution() == ConvolutionKind::forward);
      CHECK(bool(kernel->bias()) == (c.bias != 0));
      REQUIRE(kernel->outputs.size() == 3);
      CHECK(!has_folds(*last_fused(lowered).fused));
      for (const Value sums : {kernel->outputs[1], kernel->outputs[2]}) {
        CHECK(lowered.graph.shape(sums) == Shape{1, 1, 1, c.w[0]});
        CHECK(std::ranges::count(last_fused(lowered).inputs, sums) == 1);
      }
      for (const int arch : {75, 80, 100, 120}) CHECK(!folding(seen_by_gpu(graph, arch)));
    }
}

TEST_CASE("a result that stays in the cache, is of f32, or leaves tiles half empty is folded by batch norm") {
  ResultFoldsCase c = result_folds_cases()[0];
  CHECK(!folding(seen_by_gpu(result_folds(c, DType::f32))));
  c.x = c.x.with(0, 40);
  CHECK(!folding(seen_by_gpu(result_folds(c, DType::f16))));
  c.x = {48, 112, 112, 4}, c.w = {72, 7, 7}, c.stride = 2;  // more maps than a thread has registers for
  CHECK(!folding(seen_by_gpu(result_folds(c, DType::f16))));
  c = result_folds_cases()[0];
  c.x = {500, 17, 17, 64};
  CHECK(!folding(seen_by_gpu(result_folds(c, DType::f16))));
}

TEST_CASE("other folds of a result stay where they are, and those that a convolution makes need no kernel") {
  for (const int which : {0, 1, 2, 3}) {
    INFO(which);
    Sums of;
    const std::vector<int64_t> pixels{0, 1, 2};
    of.graph.output("sum", sum(which == 1 ? cast(of.result, DType::f32) : of.shifted(), pixels));
    if (which > 0) of.graph.output("squares", sum(square(of.shifted()), pixels));
    if (which == 2) of.graph.output("largest", max(of.shifted(), pixels));
    const Lowered lowered = seen_by_gpu(of.graph);
    INFO(to_string(lowered));
    CHECK((folding(lowered) != nullptr) == (which == 3));
    CHECK(std::ranges::count_if(lowered.kernels, [](const LoweredKernel& k) { return k.fused != nullptr; }) ==
          (which == 3 ? 0 : 1));
  }
}

TEST_CASE("sums of a result and of its squares are told apart, whichever comes first") {
  for (const bool squares_first : {false, true}) {
    Sums of;
    const std::vector<int64_t> pixels{0, 1, 2};
    const auto sums = [&] { return Value(sum(of.shifted(), pixels)); };
    const auto squares = [&] { return Value(sum(square(of.shifted()), pixels)); };
    const Value first = squares_first ? squares() : sums(), second = squares_first ? sums() : squares();
    of.graph.output("sum", squares_first ? second : first);
    of.graph.output("squares", squares_first ? first : second);
    const Lowered lowered = seen_by_gpu(of.graph);
    INFO(to_string(lowered));
    REQUIRE(folding(lowered));
    const std::vector<Value> arrays = cuda::library_arrays(*folding(lowered));
    REQUIRE(arrays.size() == 7);
    CHECK(arrays[4] == output_of(lowered, "result"));
    CHECK(arrays[5] == output_of(lowered, "sum"));
    CHECK(arrays[6] == output_of(lowered, "squares"));
  }
}

TEST_CASE("of a batch norm that only makes statistics numbers of the maps remain") {
  Sums of;
  const std::vector<int64_t> pixels{0, 1, 2};
  const Expr offset = mean(of.shifted(), pixels);
  of.graph.output("offset", offset);
  of.graph.output("variance", mean(square(of.shifted()), pixels) - square(offset));
  const Lowered lowered = seen_by_gpu(of.graph);
  INFO(to_string(lowered));
  REQUIRE(folding(lowered));
  const LoweredKernel& last = last_fused(lowered);
  const Segment& segment = last.fused->segments[0];
  CHECK(segment.domain == Shape{1, 1, 1, 64});
  for (const Instruction& i : segment.body) CHECK(i.reach != Reach::kept);
  for (const Store& store : segment.stores) CHECK(store.reach == Reach::full);
  CHECK(std::ranges::count(last.inputs, folding(lowered)->outputs[0]) == 0);
  const std::vector<Value> arrays = cuda::library_arrays(*folding(lowered));
  const auto mean_of = [](Value sums) { return text("mul(%", sums.id, ", 6.9444445e-06)"); };  // 1 / (90 * 40 * 40)
  const std::string code = last.fused->to_string(lowered.graph);
  CHECK(code.find(text("%", output_of(lowered, "offset").id, " = ", mean_of(arrays[5]))) != code.npos);
  CHECK(code.find(text("%", output_of(lowered, "variance").id, " = sub(", mean_of(arrays[6]), ", square(",
                       mean_of(arrays[5]), "))")) != code.npos);
}

TEST_CASE("folds relative to another row, or to a row of another array, stay where they are") {
  for (const int which : {0, 1, 2}) {
    INFO(which);
    Sums of;
    const Value other = of.graph.variable("other", DType::f16, of.result.shape());
    const auto shifted = [&] { return of.shifted_by(which == 2 ? other : Value(of.result), which == 1 ? 7 : 0); };
    of.graph.output("sum", sum(shifted(), {0, 1, 2}));
    of.graph.output("squares", sum(square(shifted()), {0, 1, 2}));
    const Lowered lowered = seen_by_gpu(of.graph);
    INFO(to_string(lowered));
    CHECK((folding(lowered) != nullptr) == (which == 0));
  }
}

TEST_CASE("kernels of convolutions that fold compile") {
  std::vector<std::string> sources;
  for (const DType dtype : {DType::f16, DType::bf16})
    for (const ResultFoldsCase& c : result_folds_cases()) {
      const Graph graph = result_folds(c, dtype);
      const Lowered lowered = seen_by_gpu(graph);
      const LoweredKernel& kernel = *folding(lowered);
      if (const auto pairs = cuda::PairTiles::of(kernel, lowered.graph, 90, 132)) {
        CHECK(pairs->sums);
        CHECK(pairs->workspace_bytes() == size_t(c.w[0] * pairs->parts() * 16));
        sources.push_back(pairs->source());
        continue;
      }
      const auto tiles = cuda::TileConvolution::of(kernel, lowered.graph, 90, 132);
      REQUIRE(tiles);
      CHECK(tiles->sums);
      CHECK(tiles->turns);
      sources.push_back(tiles->source());
    }
  for (const std::string& code : cuda::compile_sources(sources, 90)) CHECK(!code.empty());
}
