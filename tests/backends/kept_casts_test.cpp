// Weights in 16 bits are kept beside their masters: written by the update, cast by nobody else but where others wrote.
#include "tests/backends/kept_casts.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "backends/graph/expression.h"
#include "backends/graph/lower.h"
#include "backends/graph/ops.h"

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
      options.program = {.threads = 1,
                         .also = (joined ? PassSet(LowerPass::remake) : PassSet()) |
                                 (joined ? PassSet(LowerPass::join) : PassSet()) |
                                 (joined ? PassSet(LowerPass::siblings) : PassSet())};
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

TEST_CASE("a variable that becomes what another is in 16 bits does so in every run") {
  OneWeight net(DType::bf16);
  net.graph.assign(net.graph.variable("before", DType::bf16, {4}), net.narrow);
  net.graph.assign(net.w, net.w + 1.0);
  Variables variables;
  const auto program = compile_for_cpu(net.graph, variables);
  REQUIRE(once(program->lowered()) == 1);
  for (int run = 0; run < 3; ++run) {
    program->run(uint64_t(run));
    CHECK(variables.at("before").at(3) == run);
    CHECK(program->output("y").at(3) == 2 * run);
  }
}

TEST_CASE("an assignment is guarded by what a variable was before the run") {
  for (const bool narrow : {false, true}) {
    Graph graph;
    const Expr runs(graph, graph.variable("runs", DType::f32, {})), w(graph, graph.variable("w", DType::f32, {4}));
    graph.assign(runs, runs - 1.0);
    graph.assign(w, w + 1.0, narrow ? cast(graph, runs, DType::f16) : runs.value());
    Variables variables;
    const auto program = compile_for_cpu(graph, variables);
    variables.at("runs").set(0, 2);
    for (int run = 0; run < 3; ++run) {
      program->run(uint64_t(run));
      CHECK(variables.at("w").at(0) == std::min(run + 1, 2));
    }
  }
}

TEST_CASE(
    "weights in 16 bits lie side by side where the update writes them after they were read, else they are copied") {
  for (const bool early : {false, true})
    for (const bool shown : {false, true}) {
      Graph graph;
      const Expr a(graph, graph.variable("a", DType::f32, {8, 8})), b(graph, graph.variable("b", DType::f32, {8, 8}));
      const Value both = graph.add("concat", {cast(a, DType::f16), cast(b, DType::f16)}, {{"axis", int64_t(0)}});
      const auto update = [&] { graph.assign(a, a + 1.0), graph.assign(b, b + 2.0); };
      if (early) update();
      graph.output("y", matmul(graph, graph.input("x", DType::f16, {4, 8}), both, false, true));
      if (!early) update();
      if (shown) graph.output("both", both);
      Variables variables;
      const auto program = compile_for_cpu(graph, variables, {.also = LowerPass::join});
      INFO(to_string(program->lowered()));
      CHECK(std::ranges::count_if(program->lowered().kernels, [](const LoweredKernel& kernel) {
              return kernel.is(ops::concat);
            }) == (early || shown));
      Tensor x(DType::f16, {4, 8});
      for (int64_t i = 0; i < x.elements(); ++i) x.set(i, 1);
      program->bind("x", x.data());
      for (int run = 0; run < 3; ++run) {
        program->run(uint64_t(run));
        CHECK(program->output("y").at(0) == 8 * run);
        CHECK(program->output("y").at(15) == 16 * run);
        if (shown) CHECK(program->output("both").at(127) == 2 * run);
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
