// Group norm reads a large array as rarely as batch norm does, stores none of f32 beside 16 bits, and is as exact far
// from 0 as near it.
#include <catch2/catch.hpp>
#include <cmath>

#include "backends/graph/lower.h"
#include "backends/graph/windows.h"
#include "backends/program.h"
#include "neon/core/random.h"

using namespace neon;

namespace {

const Shape kImages{4, 24, 24, 32};

// A convolution, group norm and relu, and what is left of their gradient when the images are not trained.
struct GroupNormNet {
  GroupNormNet(int64_t groups, DType dtype, const char* activation) {
    const Value w = graph.variable("w", dtype, {32, 3, 3, 8});
    const Windows windows{{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
    made = Expr(graph, convolution(graph, graph.input("x", dtype, kImages.with(3, 8)), w, windows, 1));
    const Value gamma = graph.variable("gamma", DType::f32, {32}), beta = graph.variable("beta", DType::f32, {32});
    const Expr y(graph, graph.add_all("group_norm", {cast(made, DType::f32), gamma, beta},
                                      {{"groups", groups}, {"epsilon", 1e-5}})[0]);
    const Expr active = apply(activation, cast(y, dtype));
    // Another convolution reads the result, and its gradient is given by one, too.
    const Value v = graph.variable("v", dtype, {32, 3, 3, 32});
    const Expr next = cast(Expr(graph, convolution(graph, active, v, windows, 1)), DType::f32);
    const Value wanted[] = {w, gamma, beta};
    const auto slopes = gradients(graph, sum(next * next, all_axes(next.shape())), wanted);
    for (size_t i = 0; i < slopes.size(); ++i) graph.output(std::string("slope") + std::to_string(i), slopes[i]);
  }
  Graph graph;
  Expr made;
};

bool is_of_images(const Graph& graph, Value value) { return graph.shape(value).elements() >= kImages.elements(); }

}  // namespace

TEST_CASE("group norm reads an array twice, and twice with its gradient") {
  for (const int64_t groups : {1, 8, 32})
    for (const char* activation : {"relu", "swish", "tanh"})
      for (const DType dtype : {DType::f16, DType::bf16}) {
        const GroupNormNet net(groups, dtype, activation);
        const Lowered lowered = lower(net.graph, {.passes = kUsualPasses | LowerPass::remake});
        INFO(groups << " groups, " << activation << " in " << std::string(name_of(dtype)) << "\n"
                    << to_string(lowered));
        int readings = 0, results = 0;
        for (const LoweredKernel& kernel : lowered.kernels) {
          if (!kernel.fused) continue;
          bool reads = false;
          for (Value input : kernel.inputs) reads = reads || lowered.graph.producer(input).op->is(ops::convolution);
          for (Value output : kernel.outputs) {
            if (!is_of_images(lowered.graph, output)) continue;
            CHECK(lowered.graph.dtype(output) == dtype);
            ++results;
          }
          readings += reads;
        }
        // For statistics, the result, the gradient's sums and its result, and by the second convolution's cost. If each
        // channel is a group, one kernel walks twice.
        CHECK(readings == (groups == 32 ? 3 : 5));
        CHECK(results == 3);  // the result, the gradient of the cost, and that by the first convolution's result
      }
}

TEST_CASE("group norm of numbers near 5000 is as exact as of numbers near 0, also beside an outlier") {
  const Shape shape{2, 30, 20, 12};
  for (const int64_t groups : {1, 4, 12})
    for (const bool made : {false, true})
      for (const auto& [fuse, outlier] : {std::pair{true, false}, std::pair{true, true}, std::pair{false, false}}) {
        INFO(groups << " groups" << (made ? ", made" : "") << (fuse ? "" : ", kernel by kernel")
                    << (outlier ? ", the first of each sample far away" : ""));
        Graph graph;
        Expr x(graph, graph.input("x", DType::f32, shape));
        const Expr gamma(graph, broadcast_to(graph, graph.constant(1), {12}));
        const Expr beta(graph, broadcast_to(graph, graph.constant(0.5), {12}));
        const Expr y(graph, graph.add_all("group_norm", {made ? x * 1.0 : x, gamma, beta},
                                          {{"groups", groups}, {"epsilon", 1e-5}})[0]);
        graph.output("y", y);
        Variables variables;
        const auto program = compile_for_cpu(graph, variables, {.threads = 2, .fuse = fuse});
        Tensor data(DType::f32, shape);
        Stream stream(1, "group norm");
        for (int64_t i = 0; i < data.elements(); ++i) {
          const bool far = outlier && i / 12 % 600 == 0;
          data.set(i, (far ? 0 : 5000) + double(i % 12) + stream.normal());
        }
        program->bind("x", data.data());
        program->run(0);
        const Tensor& got = program->output("y");
        const int64_t size = 12 / groups, places = 600;
        for (int64_t n = 0; n < 2; ++n)
          for (int64_t group = 0; group < groups; ++group) {
            const auto each = [&](const auto& visit) {
              for (int64_t p = 0; p < places; ++p)
                for (int64_t c = 0; c < size; ++c) visit((n * places + p) * 12 + group * size + c);
            };
            double mean = 0, variance = 0, worst = 0;
            each([&](int64_t i) { mean += data.at(i) / double(places * size); });
            each([&](int64_t i) { variance += std::pow(data.at(i) - mean, 2) / double(places * size); });
            each([&](int64_t i) {
              const double normal = (data.at(i) - mean) / std::sqrt(variance + 1e-5);
              worst = std::max(worst, std::fabs(got.at(i) - (normal + 0.5)) / (1 + std::fabs(normal)));
            });
            CHECK(worst < 32 * 0x1p-24);  // a mean in f32 alone is off by up to 2e-4
          }
      }
}
