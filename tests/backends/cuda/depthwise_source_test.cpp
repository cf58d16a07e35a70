// Depthwise convolutions behind batch norm: which kernels compute their image and fold its gradient, and their texts.
#include <algorithm>
#include <catch2/catch.hpp>

#include "backends/cuda/op_source.h"
#include "backends/graph/expression.h"
#include "backends/graph/op.h"
#include "tests/backends/cuda/quick_compile.h"
#include "tests/backends/net_of_branches.h"
#include "tests/backends/normed_depthwise_cases.h"

using namespace neon;
using namespace neon::test;

TEST_CASE("depthwise convolutions that compute their images and fold the gradients by them compile") {
  std::vector<std::string> sources;
  std::map<std::string, int> scalars;
  for (DType dtype : {DType::f16, DType::bf16, DType::f32})
    for (const NormedDepthwiseCase& c : normed_depthwise_cases()) {
      INFO(c.name << " in " << std::string(name_of(dtype)));
      const Lowered lowered = lower(build_branches(c.build, dtype), cuda::gpu_lowering(true, false));
      cuda::SourceContext context{lowered, scalars, {}, 0, {}, {}};
      int64_t computed = 0, folds = 0;
      for (const LoweredKernel& kernel : lowered.kernels) {
        if (!kernel.prologue()) continue;
        ++computed, folds += kernel.folds() != nullptr;
        sources.push_back(cuda::op_source(kernel, context).text);
      }
      CHECK(computed == c.forward + c.gradients);
      CHECK(folds == c.both * c.folds);
    }
  for (int arch : {NEON_CUDA_ARCH}) CHECK(compile_error(sources, arch) == "");
}

namespace {

// A graph that goes on from the gradient by the image of a depthwise convolution, and from the image before relu.
struct AfterGradient {
  Graph& graph;
  Expr gradient, before, gain;  // gain: a variable, a number of each channel
};

// The kernels of a net whose depthwise convolution reads relu of an array times a number of each channel.
Lowered around_gradient(DType dtype, void (*after)(AfterGradient&)) {
  Graph graph;
  NetOfBranches net(graph, dtype, {8, 14, 14, 16});
  const Expr before = net.product(net.x, 32, 1), gain(graph, graph.variable("gain", DType::f32, {1, 1, 1, 32}));
  const Expr image = cast(apply("relu", cast(before, DType::f32) * gain), dtype);
  const Expr filters = net.variable({32, 3, 3, 1});
  const Expr y(graph, convolution(graph, image, filters, NetOfBranches::windows(3), 32));
  const std::vector<Value> found =
      gradients(graph, y, std::vector<Value>{image, filters}, graph.input("seed", dtype, y.shape()));
  graph.output("y", y), graph.output("gradient of filters", found[1]);
  AfterGradient next{graph, {graph, found[0]}, before, gain};
  after(next);
  return lower(graph, cuda::gpu_lowering(true, false));
}

int64_t moved_folds(const Lowered& lowered) {
  return std::ranges::count_if(lowered.kernels, [](const LoweredKernel& kernel) { return kernel.folds(); });
}

// As batch norm's gradient does, less the two sums of each channel from all numbers.
Expr less_sums(Expr g, Expr x, Expr by) {
  const std::vector<int64_t> axes = {0, 1, 2};
  return (g - sum(g, axes) - x * sum(g * x, axes)) * by;
}

}  // namespace

TEST_CASE("folds move to the kernel of both gradients only where nothing changes by that") {
  const auto plain = [](AfterGradient& of) {
    const Expr g = cast(of.gradient, DType::f32), x = cast(of.before, DType::f32);
    of.graph.output("result", less_sums(g, x, of.gain * 2.0));
  };
  CHECK(moved_folds(around_gradient(DType::f32, plain)) == 1);
  CHECK(moved_folds(around_gradient(DType::f16, plain)) == 1);
  // The first half of the samples lies where all of them do.
  const auto half = [](AfterGradient& of) {
    const auto first = [&](Expr all) {
      return cast(Expr(of.graph, of.graph.add("slice", {all},
                                              {{"axis", int64_t(0)}, {"first", int64_t(0)}, {"count", int64_t(4)}})),
                  DType::f32);
    };
    of.graph.output("result", less_sums(first(of.gradient), first(of.before), of.gain * 2.0));
  };
  CHECK(moved_folds(around_gradient(DType::f32, half)) == 0);
  // Without folds no block waits for another: one could write a variable before the other has read it.
  const auto written = [](AfterGradient& of) {
    const Expr g = cast(of.gradient, DType::f32), x = cast(of.before, DType::f32), by = of.gain * 2.0;
    of.graph.output("result", less_sums(g, x, by));
    of.graph.assign(of.gain, of.gain - sum(g, {0, 1, 2}) * 0.125);
  };
  const Lowered lowered = around_gradient(DType::f32, written);
  INFO(to_string(lowered));
  for (const LoweredKernel& kernel : lowered.kernels) {
    const std::vector<Value> variables = lowered.graph.leaves(LeafKind::variable);
    const bool writes =
        std::ranges::any_of(kernel.outputs, [&](Value value) { return std::ranges::count(variables, value) > 0; });
    const bool reads =
        std::ranges::any_of(kernel.inputs, [&](Value value) { return std::ranges::count(variables, value) > 0; });
    if (!writes || !reads || !kernel.fused) continue;
    for (const Segment& segment : kernel.fused->segments)
      CHECK((std::ranges::count(segment.reduced, true) == 0 ||
             std::ranges::count(segment.body, Instruction::Kind::reduce, &Instruction::kind) > 0));
  }
  // Sums of 16 bits, which are stored more coarsely than they are used where they are made.
  const auto coarse = [](AfterGradient& of) {
    of.graph.output("result", less_sums(of.gradient, of.before, cast(of.gain, DType::f16)));
  };
  CHECK(moved_folds(around_gradient(DType::f16, coarse)) == 0);
}
