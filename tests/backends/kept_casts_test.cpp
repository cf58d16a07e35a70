// Weights in 16 bits are kept beside their masters: written by the update, cast by nobody else but where others wrote.
#include "tests/backends/kept_casts.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "backends/graph/expression.h"
#include "backends/graph/lower.h"

using namespace neon;
using namespace neon::test;

namespace {

Net two_convolutions(DType dtype, int64_t batch) { return images(dtype, 3, batch); }

int64_t once(const Lowered& lowered) {
  return std::ranges::count_if(lowered.kernels, [](const LoweredKernel& kernel) { return kernel.is_once(); });
}

// w (4) f32 is used in `dtype` and becomes `next`; how many kernels of a step make casts of it.
struct OneWeight {
  explicit OneWeight(DType dtype)
      : w(graph, graph.variable("w", DType::f32, {4})), narrow(graph, cast(graph, w, dtype)) {
    graph.output("y", cast(narrow, DType::f32) * 2.0);
  }
  Graph graph;
  Expr w, narrow;
};

}  // namespace

TEST_CASE("a training that keeps its weights in 16 bits has the bits of one that casts them before every step") {
  for (const DType dtype : {DType::bf16, DType::f16})
    for (const bool joined : {false, true}) {
      INFO(std::string(name_of(dtype)) << (joined ? ", lowered as for a GPU" : ""));
      DeviceOptions options;
      options.cpu = {.threads = 1, .remake = joined, .join = joined, .siblings = joined};
      CHECK(kept_difference(three_layers, dtype, options) == "");
      CHECK(kept_difference(two_convolutions, dtype, options) == "");
      CHECK(kept_difference(modules, dtype, options) == "");
    }
}

TEST_CASE("one kernel makes all casts of weights, once") {
  for (const DType dtype : {DType::bf16, DType::f16, DType::f32}) {
    const Lowered lowered = lower(three_layers(dtype).step.graph);
    INFO(to_string(lowered));
    CHECK(once(lowered) == (dtype == DType::f32 ? 0 : 1));
  }
}

TEST_CASE("what a run began with is what it shows and computes with, whatever it writes") {
  for (const double guard : {0.0, 1.0}) {
    OneWeight net(DType::bf16);
    net.graph.assign(net.w, net.w + 1.0, net.graph.scalar("guard"));
    net.graph.output("narrow", net.narrow);
    Variables variables;
    const auto program = compile_for_cpu(net.graph, variables);
    program->set_scalar("guard", guard);
    for (int64_t i = 0; i < 4; ++i) variables.at("w").set(i, double(i));
    for (int run = 0; run < 3; ++run) {
      program->run(uint64_t(run));
      for (int64_t i = 0; i < 4; ++i) {
        CHECK(program->output("narrow").at(i) == double(i) + run * guard);
        CHECK(program->output("y").at(i) == 2 * (double(i) + run * guard));
      }
    }
  }
}

TEST_CASE("a weight that nobody writes is cast once, and again when it was set") {
  OneWeight net(DType::f16);
  Variables variables;
  const auto program = compile_for_cpu(net.graph, variables);
  REQUIRE(once(program->lowered()) == 1);
  for (const double value : {3.0, 5.0}) {
    for (int64_t i = 0; i < 4; ++i) variables.at("w").set(i, value);
    variables.to_device();
    for (int run = 0; run < 2; ++run) {
      program->run(uint64_t(run));
      CHECK(program->output("y").at(3) == 2 * value);
    }
  }
}
