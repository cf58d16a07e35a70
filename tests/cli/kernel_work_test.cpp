// The work of kernels that do more than their op, by the formula: each instruction counts once for each element.
#include "neon/cli/kernel_work.h"

#include <catch2/catch.hpp>

#include "backends/graph/expression.h"
#include "backends/graph/lower.h"
#include "backends/graph/ops.h"

using namespace neon;

namespace {

using Sizes = std::vector<int64_t>;

const Shape kLarge{2, 8, 10, 3}, kSmall{2, 4, 5, 3};
const double kLargeCount = double(kLarge.elements()), kSmallCount = double(kSmall.elements()), kChannels = 3;

bool always(const LoweredKernel&, const Graph&, const FusedKernel&, const FusedKernel&) { return true; }
bool always_computes(const LoweredKernel& kernel, const Graph&, const FusedKernel*) { return kernel.is(ops::pool_max); }

Attributes pooling(int64_t size) {
  return {{"window", Sizes{size, size, 1}},
          {"strides", Sizes{2, 2, 1}},
          {"padding", Sizes{size - 2, 0, size - 2, 0, 0, 0}}};
}

}  // namespace

TEST_CASE("kernels of pooling's gradient that fold and finish count pooling's work, and that of their code") {
  for (const bool gated : {false, true}) {
    Graph graph;
    Expr y(graph, graph.variable("y", DType::f16, kSmall));
    if (gated) y = apply("relu'0", y, abs(Expr(graph, graph.variable("gate", DType::f16, kSmall))));
    const Value where = graph.variable("where", DType::u8, kSmall);
    const Attributes attributes = pooling(3).with("sizes", Sizes{kLarge.begin() + 1, kLarge.end()});
    const Expr given = cast(Expr(graph, graph.add("pool_max_gradient", {y, where}, attributes)), DType::f32);
    graph.output("centred", cast(given - sum(given, {0, 1, 2}), DType::f16));
    const Lowered lowered = lower(graph, {.passes = kUsualPasses | PassSet{LowerPass::spreads},
                                          .kernels = {.pooled_bytes = 1, .walks_pooling = always}});
    INFO(to_string(lowered));
    REQUIRE(lowered.kernels.size() == (gated ? 3 : 2));  // the gate has one of its own
    const LoweredKernel &first = lowered.kernels[gated], &second = lowered.kernels[gated + 1];
    const KernelWork folds = work_of(first, lowered), finish = work_of(second, lowered);
    CHECK(first.takes(Attachment::Kind::derivative) == gated);
    CHECK(folds.flops == kSmallCount + 2 * kLargeCount);   // a cast, a sum
    CHECK(finish.flops == kSmallCount + 3 * kLargeCount);  // a cast, a difference, a cast
    // Numbers of 2 bytes, places of 1; sums of channels of 4.
    const double read = (gated ? 5 : 3) * kSmallCount;
    CHECK(folds.bytes == read + 4 * kChannels);
    CHECK(finish.bytes == read + 4 * kChannels + 2 * kLargeCount);
  }
}

TEST_CASE("max pooling that computes what it reads counts that, too") {
  Graph graph;
  const Expr x(graph, graph.variable("x", DType::f16, kLarge));
  const Expr scaled = x * Expr(graph, graph.variable("scale", DType::f16, {1, 1, 1, 3}));
  graph.output("y", apply("relu", Expr(graph, graph.add_all("pool_max", {scaled}, pooling(2))[0])));
  const Lowered lowered = lower(graph, {.passes = kUsualPasses | PassSet{LowerPass::prologues},
                                        .kernels = {.pooled_bytes = 1, .computes_image = always_computes}});
  INFO(to_string(lowered));
  REQUIRE(lowered.kernels.size() == 1);
  REQUIRE(lowered.kernels[0].prologue());
  CHECK(work_of(lowered.kernels[0], lowered).flops == 4 * kSmallCount + kLargeCount);
}
