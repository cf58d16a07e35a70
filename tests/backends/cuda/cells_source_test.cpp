// Kernels of recurrent cells: which sizes have one, and that it compiles. Needs no GPU.
#include <catch2/catch.hpp>

#include "backends/cuda/op_source.h"
#include "backends/cuda/recurrent_plan.h"
#include "tests/backends/cell_graph.h"
#include "tests/backends/cuda/quick_compile.h"
#include "tests/backends/op_cases.h"

using namespace neon;
using namespace neon::test;

namespace {

constexpr int kProcessors = 132;  // of an H100

struct Sizes {
  int64_t samples, steps, units;
};

std::optional<cuda::CellPlan> plan_of(const std::string& op, DType dtype, const Sizes& sizes,
                                      int processors = kProcessors, int arch = 90, bool tf32 = false) {
  const int64_t gates = op.starts_with("lstm") ? 4 : op.starts_with("gru") ? 3 : 1;
  Graph graph;
  const Value z = graph.input("z", dtype, {sizes.samples, sizes.steps, gates * sizes.units}),
              w = graph.input("w", dtype, {gates * sizes.units, sizes.units});
  const bool second = op == "lstm_grad" || op == "gru_grad";
  const cuda::CellKind* kind = cuda::cell_kind(*find_op(op));
  REQUIRE(kind);
  const std::vector<Value> inputs = second ? std::vector{z, z, w} : std::vector{z, w};
  return cuda::plan_cell(cuda::cell_case(*kind, graph, inputs), processors, arch, tf32);
}

constexpr const char* kOps[] = {"lstm", "lstm_grad", "gru", "gru_grad", "recurrent", "recurrent_grad"};

// Sources of the kernels of cells in a cell's graph and its gradient.
std::vector<std::string> cell_sources(const Graph& graph, bool tf32) {
  const Lowered lowered = lower(graph, cuda::gpu_lowering(true, tf32, 90, kProcessors));
  std::map<std::string, int> scalars;
  cuda::SourceContext context{lowered, scalars, {}, 0, {}, {}};
  context.processors = kProcessors;
  context.tf32 = tf32;
  std::vector<std::string> out;
  for (const LoweredKernel& kernel : lowered.kernels)
    if (kernel.op && cuda::cell_kind(*kernel.op)) out.push_back(cuda::op_source(kernel, context).text);
  return out;
}

}  // namespace

TEST_CASE("cells have a kernel as long as their weights fit the registers of all processors") {
  for (const char* op : kOps) {
    INFO(op);
    CHECK(plan_of(op, DType::f32, {64, 50, 512}));
    CHECK(plan_of(op, DType::f16, {64, 50, 1024}));
    CHECK(plan_of(op, DType::bf16, {128, 28, 128}));
    CHECK(plan_of(op, DType::bf16, {1, 1, 1}));
    CHECK(plan_of(op, DType::f16, {100'000, 3, 7}));
    CHECK(!plan_of(op, DType::f32, {64, 50, 4096}));
    CHECK(!plan_of(op, DType::f16, {64, 50, 4096}));
    CHECK(!plan_of(op, DType::f64, {2, 3, 4}));
    CHECK(!plan_of(op, DType::f16, {2, 3, 4}, kProcessors, 75));
    CHECK(plan_of(op, DType::f32, {2, 3, 4}, kProcessors, 75));
    CHECK(!plan_of(op, DType::f32, {0, 3, 4}));
  }
  // 4 x 512 x 512 weights of f32 are 128 KiB in each of 32 blocks.
  CHECK(!plan_of("lstm", DType::f32, {64, 50, 512}, 31));
  CHECK(plan_of("lstm", DType::f32, {64, 50, 512}, 32));
}

TEST_CASE("f32 is multiplied on tensor cores as TF32, or as the sum of two numbers, as long as registers hold both") {
  for (const char* op : kOps) {
    INFO(op);
    const auto terms = [&](const Sizes& sizes, int arch, bool tf32) {
      return plan_of(op, DType::f32, sizes, kProcessors, arch, tf32)->terms;
    };
    CHECK(terms({64, 50, 512}, 90, true) == 1);
    CHECK(terms({64, 50, 512}, 90, false) == 2);
    CHECK(terms({64, 50, 512}, 75, false) == 0);
    CHECK(plan_of(op, DType::f16, {64, 50, 512})->terms == 1);
  }
  // 4 x 1024 x 1024 weights are 16 MiB, of the 16.5 that registers for weights hold; twice as many are not held.
  CHECK(plan_of("lstm", DType::f32, {64, 50, 1024})->terms == 0);
}

TEST_CASE("a plan covers all units and samples, and its blocks run at the same time or take numbers in order") {
  for (const char* op : kOps)
    for (const DType dtype : {DType::f32, DType::f16})
      for (const Sizes& sizes : {Sizes{64, 50, 512}, {128, 28, 128}, {5000, 300, 33}, {3, 1, 5}, {130, 65, 700}}) {
        INFO(op << ", " << text(dtype) << ", " << sizes.samples << " samples, " << sizes.units << " units");
        const auto plan = plan_of(op, dtype, sizes);
        REQUIRE(plan);
        CHECK(plan->own * plan->team >= sizes.units);
        CHECK(plan->own * (plan->team - 1) < sizes.units);
        CHECK(plan->batch * plan->teams >= sizes.samples);
        CHECK(plan->team <= kProcessors);
        CHECK(plan->in_order == (plan->blocks() > kProcessors));
        // Slots are used again three segments later, once two have passed.
        if (plan->segment) CHECK(plan->slots == 3 * plan->segment);
        else CHECK(plan->slots == sizes.steps);
      }
}

// A compiler takes seconds for a kernel. On a GPU all cases run in all types (cells_test.cpp).
TEST_CASE("kernels of cells compile, of all plans, one after another in each type") {
  std::vector<std::string> sources;
  constexpr DType kTypes[] = {DType::f32, DType::f16, DType::bf16, DType::f32};
  size_t number = 0;
  for (const CellGraphCase& c : cell_graph_cases()) {
    const DType dtype = kTypes[number % 4];
    const bool tf32 = number++ % 4 == 3;
    const std::vector<std::string> made = cell_sources(cell_graph(c, dtype), tf32);
    INFO(c.name << " in " << (tf32 ? "TF32" : text(dtype)));
    CHECK(made.size() == 2);
    sources.insert(sources.end(), made.begin(), made.end());
  }
  for (int arch : {NEON_CUDA_ARCH})
    if (arch >= 80) CHECK(compile_error(sources, arch) == "");
}
