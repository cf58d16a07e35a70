// What max pooling's gradient takes along on a device that asks for it.
#include <algorithm>
#include <catch2/catch.hpp>

#include "backends/graph/ops.h"
#include "tests/backends/net_of_branches.h"
#include "tests/backends/pooled_cases.h"
#include "tests/backends/random_graph.h"
#include "tests/backends/read_too_early.h"

using namespace neon;
using namespace neon::test;

namespace {

const LoweredKernel& pooling_gradient(const Lowered& lowered) {
  const auto found = std::ranges::find_if(
      lowered.kernels, [](const LoweredKernel& kernel) { return kernel.is(ops::pool_max_gradient); });
  REQUIRE(found != lowered.kernels.end());
  return *found;
}

int64_t kernels_of(const Lowered& lowered, OpName op) {
  return std::ranges::count_if(lowered.kernels, [&](const LoweredKernel& kernel) { return kernel.is(op); });
}

}  // namespace

TEST_CASE("relu's derivative and the bias's gradient go with max pooling's gradient") {
  for (DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16})
    for (const PooledCase& c : pooled_cases()) {
      const Graph graph = build_branches(c.build, dtype);
      const Lowered taken = lower(graph, {.kernels = {.pooled_bytes = 1}}), apart = lower(graph);
      INFO(c.name << " in " << std::string(name_of(dtype)) << "\n" << to_string(taken));
      const LoweredKernel& kernel = pooling_gradient(taken);
      CHECK((kernel.derivative() != nullptr) == c.derivative);
      CHECK((kernel.outputs.size() == 2) == c.sums);
      if (c.sums)
        CHECK(taken.graph.shape(kernel.outputs[1]).elements() ==
              graph.shape(graph.outputs().at("gradient of b")).elements());
      // Both were one kernel, of the device's fused ones.
      CHECK(apart.kernels.size() - taken.kernels.size() == (c.derivative ? 1 : 0));
      CHECK(read_too_early(taken) == -1);
      CHECK(pooling_gradient(apart).derivative() == nullptr);
    }
}

TEST_CASE("max pooling's gradient of a small array takes nothing along") {
  const Graph graph = build_branches(pooled_cases()[0].build, DType::f16);
  const int64_t bytes = 8 * 32 * 32 * 64 * 2;
  CHECK(pooling_gradient(lower(graph, {.kernels = {.pooled_bytes = bytes}})).derivative() != nullptr);
  CHECK(pooling_gradient(lower(graph, {.kernels = {.pooled_bytes = bytes + 1}})).derivative() == nullptr);
}

TEST_CASE("the derivative's result is not kept where max pooling's gradient takes it along") {
  const Graph graph = build_branches(pooled_cases()[0].build, DType::f16);
  const Lowered lowered = lower(graph, {.kernels = {.pooled_bytes = 1}});
  int kept = 0;
  for (int n = 0; n < lowered.graph.node_count(); ++n)
    if (const Node& node = lowered.graph.node(n); node.op->name == "relu'0")
      kept += int(lowered.buffers[size_t(node.outputs[0].id)].bytes > 0);
  CHECK(kept == 0);
}

TEST_CASE("first convolutions in 16 bits take max pooling along, and gradients of their filters that of pooling") {
  for (DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16})
    for (const PooledConvolutionCase& c : pooled_convolution_cases()) {
      const bool narrow = size_of(dtype) == 2, taken = c.taken && narrow, gradient = c.gradient && narrow;
      const Graph graph = build_branches(c.build, dtype);
      LowerOptions options{.passes = kUsualPasses | LowerPass::deep_inputs | LowerPass::join,
                           .kernels = {.pooled_bytes = 1}};
      const Lowered apart = lower(graph, options);
      options.kernels.pooled_types = {DType::f16, DType::bf16};
      const Lowered lowered = lower(graph, options);
      INFO(c.name << " in " << std::string(name_of(dtype)) << "\n" << to_string(lowered));
      const auto pools = [](const LoweredKernel& kernel) { return kernel.takes(Attachment::Kind::pooling); };
      const auto goes_on = [](const LoweredKernel& kernel) { return kernel.takes(Attachment::Kind::filters); };
      CHECK(std::ranges::count_if(lowered.kernels, pools) == taken);
      CHECK(std::ranges::count_if(lowered.kernels, goes_on) == gradient);
      CHECK(kernels_of(lowered, ops::pool_max) == !taken);
      CHECK(kernels_of(lowered, ops::pool_max_gradient) == 1);
      CHECK(apart.kernels.size() - lowered.kernels.size() == size_t(taken) + size_t(gradient));
      CHECK(read_too_early(lowered) == -1);
      // What is as large as all pixels that the convolution makes is not kept.
      const auto pooling = std::ranges::find_if(lowered.kernels, [&](const LoweredKernel& kernel) {
        return taken ? pools(kernel) : kernel.is(ops::pool_max);
      });
      const auto& outputs = pooling->outputs;
      for (int n = 0; n < lowered.graph.node_count() && taken && gradient; ++n)
        for (Value value : lowered.graph.node(n).outputs)
          if (lowered.graph.shape(value).elements() >= 4 * lowered.graph.shape(outputs[0]).elements())
            CHECK((lowered.graph.node(n).op->is(ops::patches) || lowered.buffers[size_t(value.id)].bytes == 0));
    }
}

TEST_CASE("random graphs whose max pooling's gradients take things along keep their order") {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const RandomGraph random = random_graph(seed, {});
    const Lowered lowered = lower(random.graph, {.kernels = {.pooled_bytes = 1}});
    INFO("seed " << seed << "\n" << to_string(lowered));
    CHECK(read_too_early(lowered) == -1);
  }
}
